"""What can go wrong, as one small tree.

    PenstockError                     every error of ours: a stable code and a text that teaches
    ├── ConfigError                   an option is unknown, has the wrong type, or contradicts another
    ├── PlanError                     the program cannot be turned into a job
    ├── UnsupportedOperation          Flink has it, Penstock does not; the text says why
    ├── ElementError                  an element does not fit the type that was declared for it
    ├── KeyError_                     a key cannot be used as a key
    ├── StateError                    state was used wrongly, or its stored bytes do not fit
    ├── TimeError                     a timer or timestamp cannot be honoured
    ├── CheckpointError               a checkpoint is missing, damaged or belongs to another job
    ├── UserFunctionError             a function of the user's raised; names operator, key and element
    └── JobError                      the running job failed or was stopped

The text says, in this order: what was found, what was expected, what to do next.
"""

from __future__ import annotations

import msgspec

from penstock.redaction import redacted


class FailedCall(msgspec.Struct, kw_only=True):
    """A call of a user's function that raised: all that is known of it, as text, so that it travels."""

    role: str = "Operator"  # or "Source", "Sink"
    name: str
    uid: str = ""
    error: str = ""  # the exception's type,
    message: str = ""  # and its words
    function: str = ""  # in which it was raised, of the user's own
    place: str = ""  # file and line of it
    pattern: str | None = None  # whose condition it was, or that could not be made
    key: str | None = None
    element: str | None = None
    timer: int | None = None  # the time of a timer's call, which has no element
    source: str | None = None
    split: str | None = None
    position: int | None = None
    batch: int | None = None
    stack: str = ""  # the user's own frames, as Python prints them
    ours: str = ""  # the text of an error of ours that the call met, without the place

    def where(self) -> str:
        """Operator, place, key, element and position, as the tail of a sentence.

        >>> FailedCall(name="map", place="job.py:3", element="'a'", source="words", split="0", position=7).where()
        "operator 'map', job.py:3, element 'a', from source 'words', split '0', position 7"
        """
        return ", ".join((f"{self.role.lower()} '{self.name}'{self.of_uid()}", *self._details()))

    def details(self) -> str:
        """The same without the operator, to go on after a word.

        >>> FailedCall(name="map", place="job.py:3").details()
        ' at job.py:3'
        """
        parts = self._details()
        at = f" at {parts.pop(0)}" if self.place else ""
        return ", ".join((at, *parts))

    def of_uid(self) -> str:
        return f" (uid '{self.uid}')" if self.uid and self.uid != self.name else ""

    def _details(self) -> list[str]:
        parts = [f"{self.place} in {self.function}" if self.function else self.place] if self.place else []
        if self.pattern is not None:
            parts.append(f"pattern '{self.pattern}'")
        for word, value in (("key", self.key), ("element", self.element)):
            if value is not None:
                parts.append(f"{word} {value}")
        if self.timer is not None:
            parts.append(f"timer at {self.timer}")
        if self.source is not None:
            parts.append(f"from source '{self.source}'")
        if self.split is not None:
            parts.append(f"split '{self.split}'")
        for word, number in (("position", self.position), ("batch", self.batch)):
            if number is not None:
                parts.append(f"{word} {number}")
        return parts


class PenstockError(Exception):
    """An error with a stable code.

    >>> str(PenstockError("DUPLICATE_UID", "Two operators have uid 'a'."))
    "[DUPLICATE_UID] Two operators have uid 'a'."
    """

    def __init__(self, code: str, text: str) -> None:
        text = redacted(text)
        super().__init__(code, text)
        self.code = code
        self.text = text
        self.failed: FailedCall | None = None  # the call in which it happened, if it was one of a user's function

    def __str__(self) -> str:
        return f"[{self.code}] {self.text}"


class UnreadDeadLetters(UserWarning):
    """An operator puts elements aside as dead letters, and nobody reads them."""


class ConfigError(PenstockError):
    """An option is unknown, has the wrong type, or contradicts another."""


class PlanError(PenstockError):
    """The program cannot be turned into a job."""


class UnsupportedOperation(PenstockError):  # noqa: N818 - the name users know from PyFlink
    """Flink has it, Penstock does not; the text says why."""


class ElementError(PenstockError):
    """An element does not fit the type that was declared for it."""


class KeyError_(PenstockError):  # noqa: N801, N818 - KeyError is taken by Python
    """A key cannot be used as a key."""


class StateError(PenstockError):
    """State was used wrongly, or its stored bytes do not fit."""


class TimeError(PenstockError):
    """A timer or timestamp cannot be honoured."""


class CheckpointError(PenstockError):
    """A checkpoint is missing, damaged or belongs to another job."""


class UserFunctionError(PenstockError):
    """A function of the user's raised; the text names operator, key and element."""


class JobError(PenstockError):
    """The running job failed or was stopped."""


class OptionIgnored(UserWarning):
    """An option of Flink's was set that has no effect here."""
