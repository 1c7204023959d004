"""What can go wrong, as one small tree.

    PenstockError                     every error of ours: a stable code and a text that teaches
    ├── ConfigError                   an option is unknown, has the wrong type, or contradicts another
    ├── PlanError                     the program cannot be turned into a job
    ├── UnsupportedOperation          Flink has it, Penstock does not; the text says why
    ├── KeyError_                     a key cannot be used as a key
    ├── StateError                    state was used wrongly, or its stored bytes do not fit
    ├── TimeError                     a timer or timestamp cannot be honoured
    ├── CheckpointError               a checkpoint is missing, damaged or belongs to another job
    ├── UserFunctionError             a function of the user's raised; names operator, key and element
    └── JobError                      the running job failed or was stopped

The text says, in this order: what was found, what was expected, what to do next.
"""

from __future__ import annotations


class PenstockError(Exception):
    """An error with a stable code.

    >>> str(PenstockError("DUPLICATE_UID", "Two operators have uid 'a'."))
    "[DUPLICATE_UID] Two operators have uid 'a'."
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return f"[{self.code}] {self.text}"


class ConfigError(PenstockError):
    """An option is unknown, has the wrong type, or contradicts another."""


class PlanError(PenstockError):
    """The program cannot be turned into a job."""


class UnsupportedOperation(PenstockError):  # noqa: N818 - the name users know from PyFlink
    """Flink has it, Penstock does not; the text says why."""


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
