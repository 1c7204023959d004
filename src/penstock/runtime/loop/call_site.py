"""Reports failed calls of a user function, as errors or as dead letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import PenstockError
from penstock.functions import DeadLetter
from penstock.runtime.failure import function_error, short_repr
from penstock.runtime.loop.records import Tags
from penstock.time import NO_TIMESTAMP

Locate = Callable[[Tags, int], dict[str, Any]]  # returns the source of an element, as fields of FailedCall

# Penstock errors about a value. All others are mistakes in the program and fail the job whatever the element is.
_ABOUT_VALUES = {"ASYNC_RESULT", "ELEMENT_TYPE", "FUNCTION_RESULT", "TIMESTAMP_TYPE"} | {
    "KEY_IS_NONE",
    "KEY_IS_NAN",
    "KEY_MISFIT",
    "KEY_TYPE",
    "KEY_UNHASHABLE",
    "RECORD_FIELD",
    "RECORD_FORMAT",
}
_NONE = object()


class CallSite:
    """The calls of one operator. Its methods run only after a call has raised."""

    __slots__ = ("_name", "_reported", "_role", "_uid", "dead_letters_made", "function", "locate")

    def __init__(self, name: str, uid: str, function: Any = None, role: str = "Operator") -> None:
        self._role = role
        self._name = name
        self._uid = uid
        self.function = function
        self._reported = 0
        self.locate: Locate | None = None
        self.dead_letters_made = 0  # total so far

    def error(
        self,
        error: Exception,
        *,
        element: Any = _NONE,
        key: Any = _NONE,
        origin: tuple[Tags, int] | None = None,
        timestamp: int | None = NO_TIMESTAMP,
        timer: int | None = None,
        batch: int | None = None,
    ) -> PenstockError:
        """Returns the error to raise for the exception of a call."""
        known: dict[str, Any] = {"batch": batch}
        if origin is not None and self.locate is not None:
            known |= self.locate(*origin)
        return function_error(
            error,
            function=self.function,
            has_timestamp=timer is not None or timestamp != NO_TIMESTAMP,
            role=self._role,
            name=self._name,
            uid=self._uid,
            element=None if element is _NONE else short_repr(element),
            key=None if key is _NONE else short_repr(key),
            timer=timer,
            **known,
        )

    def dead_letter(self, error: Exception, **known: Any) -> DeadLetter:
        """Returns the dead letter of a call. Raises the error instead if it is not about the element."""
        reported = self.error(error, **known)
        if reported.failed is None or (reported.failed.penstock_error and reported.code not in _ABOUT_VALUES):
            raise reported from error
        self.dead_letters_made += 1
        failed, timer = reported.failed, known.get("timer")
        timestamp = known.get("timestamp", NO_TIMESTAMP) if timer is None else timer
        return DeadLetter(
            operator=self._name,
            uid=self._uid,
            element=known.get("element"),
            error=type(reported).__name__ if failed.penstock_error else failed.error,
            message=failed.penstock_error or failed.message,
            place=failed.location,
            key=known.get("key"),
            timestamp=None if timestamp == NO_TIMESTAMP else timestamp,
            source=failed.source,
            split=failed.split,
            position=failed.position,
        )

    def take_dead_letter_count(self) -> int:
        count, self._reported = self.dead_letters_made - self._reported, self.dead_letters_made
        return count
