"""The error classes.

    PenstockError                     base class of all errors: a stable code and a message
    ├── ConfigError                   an option is unknown, has a wrong value, or conflicts with another
    ├── PlanError                     the program cannot be translated to a job
    ├── SqlParseError                 a SQL statement has a syntax error; has line and column
    ├── SqlValidationError            a SQL statement has unknown names or wrong types; has line and column
    ├── UnsupportedOperation          Penstock does not support a feature of Flink
    ├── ElementError                  an element does not fit its declared type
    ├── InvalidKeyError               a key cannot be used as a key
    ├── StateError                    state was used incorrectly, or stored state does not fit its type
    ├── TimeError                     a timestamp, a timer or a watermark strategy is invalid
    ├── CheckpointError               a checkpoint is missing, corrupt, or belongs to another job
    ├── UserFunctionError             a user function raised an exception; names operator, key and element
    └── JobError                      a running job failed or was stopped

A message contains, in this order, what was found, what was expected, and what to do next.
"""

from __future__ import annotations

import os
import sys
import warnings
from enum import Enum

import msgspec

from penstock.redaction import redact

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class FailedCall(msgspec.Struct, kw_only=True):
    """A call of a user function that raised an exception, described as text so that it can be sent between processes."""

    role: str = "Operator"  # or "Source", "Sink"
    name: str
    uid: str = ""
    error: str = ""  # class of the exception
    message: str = ""  # message of the exception
    function: str = ""  # user function that raised it
    location: str = ""  # file and line
    pattern: str | None = None  # CEP pattern whose condition or creation failed
    key: str | None = None
    element: str | None = None
    timer: int | None = None  # time of the timer; a timer call has no element
    source: str | None = None
    split: str | None = None
    position: int | None = None
    batch: int | None = None
    stack: str = ""  # stack trace of the user code
    penstock_error: str = ""  # message of the PenstockError that the call raised, without the location

    @property
    def place(self) -> str:
        """File and line.

        .. deprecated:: 0.2 Use `location`.
        """
        warnings.warn("FailedCall.place is deprecated. Use FailedCall.location.", DeprecationWarning, stacklevel=2)
        return self.location

    def where(self) -> str:
        """Returns operator, location, key, element and position as one phrase.

        >>> FailedCall(name="map", location="job.py:3", element="'a'", source="words", split="0", position=7).where()
        "operator 'map', job.py:3, element 'a', from source 'words', split '0', position 7"
        """
        return ", ".join((f"{self.role.lower()} '{self.name}'{self.uid_suffix()}", *self._details()))

    def details(self) -> str:
        """Returns the same phrase without the operator, to be appended to a sentence.

        >>> FailedCall(name="map", location="job.py:3").details()
        ' at job.py:3'
        """
        parts = self._details()
        at = f" at {parts.pop(0)}" if self.location else ""
        return ", ".join((at, *parts))

    def uid_suffix(self) -> str:
        return f" (uid '{self.uid}')" if self.uid and self.uid != self.name else ""

    def _details(self) -> list[str]:
        parts = [f"{self.location} in {self.function}" if self.function else self.location] if self.location else []
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
    """Base class of all errors, with a stable code and a message.

    >>> str(PenstockError("DUPLICATE_UID", "Two operators have uid 'a'."))
    "[DUPLICATE_UID] Two operators have uid 'a'."
    """

    def __init__(self, code: str, text: str) -> None:
        text = redact(text)
        super().__init__(code, text)
        self.code = code
        self.text = text
        self.failed: FailedCall | None = None  # the call of a user function that raised it, if any

    def __str__(self) -> str:
        return f"[{self.code}] {self.text}"


class UnreadDeadLetters(UserWarning):
    """Warns that an operator has a dead-letter output that no sink reads."""


class ConfigError(PenstockError):
    """Raised if an option is unknown, has a wrong value, or conflicts with another option."""


class PlanError(PenstockError):
    """Raised if the program cannot be translated to a job."""


class SqlParseError(PenstockError):
    """Raised if a SQL statement cannot be parsed. `line` and `column` are the place in the text, both from 1."""

    def __init__(self, code: str, text: str, line: int = 1, column: int = 1) -> None:
        super().__init__(code, text)
        self.line = line
        self.column = column


class SqlValidationError(PenstockError):
    """Raised if a SQL statement has unknown names or wrong types. `line` and `column` are the place in the text, both from 1."""

    def __init__(self, code: str, text: str, line: int = 1, column: int = 1) -> None:
        super().__init__(code, text)
        self.line = line
        self.column = column


class ExpressionError(PenstockError):
    """Raised if the value of a SQL expression cannot be computed: a division by zero, or a cast of text that is not a number."""


class UnsupportedOperation(PenstockError):  # noqa: N818 - the name users know from PyFlink
    """Raised for a feature of Flink that Penstock does not support. The message contains the reason."""


class ElementError(PenstockError):
    """Raised if an element does not fit its declared type."""


class ElementTypeError(ElementError, TypeError):
    """Raised if an element has another class than its declared type."""


class InvalidKeyError(PenstockError):
    """Raised if a value cannot be used as a key.

    .. deprecated:: the former name ``KeyError_`` still works and warns.
    """


class StateError(PenstockError):
    """Raised if state is used incorrectly, or if stored state does not fit its type."""


class TimeError(PenstockError):
    """Raised for an invalid timestamp, timer or watermark strategy."""


class CheckpointError(PenstockError):
    """Raised if a checkpoint is missing, corrupt, or belongs to another job."""


class UserFunctionError(PenstockError):
    """Raised if a user function raises an exception. The message names operator, key and element."""


class JobError(PenstockError):
    """Raised if a running job failed or was stopped."""


class OptionIgnored(UserWarning):
    """Warns that a setting has no effect: an option of Flink that Penstock does not need, or one that does not apply here."""


def warn_ignored(message: str) -> None:
    """Warns that a setting has no effect. The warning shows the line of the program that uses Penstock."""
    _warn(message, OptionIgnored)


def warn_deprecated(message: str) -> None:
    """Warns that a name is deprecated, in the same way."""
    _warn(message, DeprecationWarning)


def _warn(message: str, category: type[Warning]) -> None:
    frame, level = sys._getframe(2), 3
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def check_enum(method: str, value: object, kind: type[Enum]) -> None:
    """Raises an error unless a value is a member of an enumeration. Text is not converted, so that a misspelt name is detected.

    >>> from penstock.row import RowKind
    >>> check_enum("set_row_kind", RowKind.INSERT, RowKind)
    """
    if not isinstance(value, kind):
        names = ", ".join(f"{kind.__qualname__}.{member.name}" for member in kind)
        raise PlanError("ENUM_VALUE", f"{method}() got {value!r}. Pass one of {names}.")


def __getattr__(name: str) -> type[PenstockError]:
    """Resolves deprecated names."""
    if name == "KeyError_":
        warnings.warn("penstock.errors.KeyError_ is now InvalidKeyError.", DeprecationWarning, stacklevel=2)
        return InvalidKeyError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
