"""A function of the user's at its place in the job: tells of its failures, as errors or as dead letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import PenstockError
from penstock.functions import DeadLetter, OutputTag
from penstock.runtime.failure import failure, shortened
from penstock.runtime.records import Tags
from penstock.time import NO_TIMESTAMP

Locate = Callable[[Tags, int], dict[str, Any]]  # what is known of the source of an element: fields of FailedCall

# Errors of ours that are about a value. The others are mistakes of the program, and fail it whatever the element.
_ABOUT_VALUES = {"ASYNC_RESULT", "ELEMENT_TYPE", "TIMESTAMP_TYPE"} | {
    "KEY_IS_NONE",
    "KEY_IS_NAN",
    "KEY_MISFIT",
    "KEY_TYPE",
    "KEY_UNHASHABLE",
}
_NONE = object()


class CallSite:
    """One operator's calls. Nothing here runs before a call has raised."""

    __slots__ = ("_counted", "_name", "_role", "_uid", "function", "letters", "locate")

    def __init__(self, name: str, uid: str, function: Any = None, role: str = "Operator") -> None:
        self._role = role
        self._name = name
        self._uid = uid
        self.function = function
        self._counted = 0
        self.locate: Locate | None = None
        self.letters = 0  # made so far

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
        """The error to raise from a call's."""
        known: dict[str, Any] = {"batch": batch}
        if origin is not None and self.locate is not None:
            known |= self.locate(*origin)
        return failure(
            error,
            function=self.function,
            has_timestamp=timer is not None or timestamp != NO_TIMESTAMP,
            role=self._role,
            name=self._name,
            uid=self._uid,
            element=None if element is _NONE else shortened(element),
            key=None if key is _NONE else shortened(key),
            timer=timer,
            **known,
        )

    def letter(self, error: Exception, **known: Any) -> DeadLetter:
        """The dead letter of a call; raises the error instead when it is not about the element."""
        told = self.error(error, **known)
        if told.failed is None or (told.failed.ours and told.code not in _ABOUT_VALUES):
            raise told from error
        OutputTag.any_made = True
        self.letters += 1
        failed, timer = told.failed, known.get("timer")
        stamp = known.get("timestamp", NO_TIMESTAMP) if timer is None else timer
        return DeadLetter(
            operator=self._name,
            uid=self._uid,
            element=known.get("element"),
            error=type(told).__name__ if failed.ours else failed.error,
            message=failed.ours or failed.message,
            place=failed.place,
            key=known.get("key"),
            timestamp=None if stamp == NO_TIMESTAMP else stamp,
            source=failed.source,
            split=failed.split,
            position=failed.position,
        )

    def letters_since_last_batch(self) -> int:
        made, self._counted = self.letters - self._counted, self.letters
        return made
