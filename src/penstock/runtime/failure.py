"""Errors of user functions: finds where a function raised, and reports it with the operator, the element and the key."""

from __future__ import annotations

import inspect
import linecache
import os
import sysconfig
import traceback
from types import FrameType
from typing import Any

from penstock.errors import FailedCall, PenstockError, TimeError, UserFunctionError
from penstock.redaction import redact

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARIES = tuple({sysconfig.get_path(p) + os.sep for p in ("stdlib", "platstdlib", "purelib", "platlib")})
_MAX_LENGTH = 200
_MAX_FRAMES = 20


def short_repr(value: Any) -> str:
    """Returns the repr of a value, shortened if it is long. Never raises.

    >>> short_repr("a" * 300)[-5:]
    'aa...'
    """
    try:
        text = redact(repr(value))
    except Exception as error:
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 3] + "..."


class PatternError(Exception):
    """An exception that a condition of a pattern, or a rule that makes a pattern, raised."""

    def __init__(self, pattern: str, cause: Exception) -> None:
        super().__init__(f"pattern '{pattern}': {cause}")
        self.pattern = pattern
        self.cause = cause


def function_error(
    error: Exception, *, function: Any = None, has_timestamp: bool = True, **known: Any
) -> PenstockError:
    """Returns the error to raise for a call that raised; `known` are fields of FailedCall.

    A PenstockError keeps its class and code and gets the location of the call, unless it already has one.
    """
    if isinstance(error, PenstockError) and error.failed is not None:
        return error
    if isinstance(error, PatternError):
        known["pattern"] = error.pattern
        error = error.cause
    failed, line = _failed_call(error, known)
    if not failed.location:
        failed.location = definition_location(function)
    if isinstance(error, PenstockError):
        failed.penstock_error = error.text
        return _to_error(failed, error)
    if isinstance(error, TypeError) and not failed.stack and failed.message.endswith("object is not iterable"):
        failed.message += " (the function must yield its elements, or return a list of them, or None)"
    if not has_timestamp and isinstance(error, TypeError) and "NoneType" in failed.message and "timestamp" in line:
        penstock_error = TimeError(
            "ELEMENT_WITHOUT_TIMESTAMP",
            f"`{line}` needs a timestamp, but ctx.timestamp() is None because the element has none. Call "
            "assign_timestamps_and_watermarks with a timestamp assigner before this operator.",
        )
        failed.penstock_error = penstock_error.text
        return _to_error(failed, penstock_error)
    return _to_error(failed)


def _to_error(failed: FailedCall, penstock_error: PenstockError | None = None) -> PenstockError:
    error: PenstockError
    raised = f"'{failed.name}'{failed.uid_suffix()} raised {failed.error}: {failed.message}{failed.details()}"
    if penstock_error is not None:
        error = type(penstock_error)(penstock_error.code, f"{failed.penstock_error} (In {failed.where()}.)")
    elif failed.role == "Source":
        error = UserFunctionError(
            "SOURCE_FAILED",
            f"Source {raised}. The batch was not committed. Fix the source or its input, and resume the job.",
        )
    elif failed.role == "Sink":
        error = UserFunctionError(
            "SINK_FAILED",
            f"Sink {raised}. The batch was not committed. Fix the sink or its target, and resume the job.",
        )
    else:
        error = UserFunctionError(
            "USER_FUNCTION",
            f"Operator {raised}. The batch was not committed. Fix the function and resume the job, or set "
            'on_error="dead_letter" on the operator to send such elements to its dead-letter output.',
        )
    error.failed = failed
    if failed.stack:
        error.add_note(failed.stack)
    return error


def _failed_call(error: Exception, known: dict[str, Any]) -> tuple[FailedCall, str]:
    """Returns what the exception shows about the call, and the source line of the user function that raised it."""
    frames = [(f, n) for f, n in traceback.walk_tb(error.__traceback__) if not _file(f).startswith(_PACKAGE)]
    user_frames = [(f, n) for f, n in frames if not _file(f).startswith((*_LIBRARIES, "<frozen"))]
    location = function = line = ""
    if frames:
        frame, number = (user_frames or frames)[-1]
        location = f"{_relative_path(_file(frame))}:{number}"
        function = frame.f_code.co_qualname.rpartition("<locals>.")[2]
        line = linecache.getline(_file(frame), number).strip()
    try:
        message = redact(str(error))
    except Exception as other:
        message = f"<its message raises {type(other).__name__}>"
    stack = "".join(traceback.StackSummary.extract(iter(frames[-_MAX_FRAMES:])).format()).rstrip()
    stack = f"In the program:\n{redact(stack)}" if stack else ""
    call = FailedCall(
        error=type(error).__name__, message=message, function=function, location=location, stack=stack, **known
    )
    return call, line


def definition_location(function: Any) -> str:
    """Returns file and line where a user function, or the class of an object, is defined; empty if not known."""
    try:
        known = inspect.unwrap(function) if callable(function) else function
        code = getattr(getattr(known, "__func__", known), "__code__", None)
        if code is not None:
            file, line = code.co_filename, code.co_firstlineno
        else:
            known = known if isinstance(known, type) else type(known)
            file, line = inspect.getfile(known), 0
        if file.startswith((_PACKAGE, *_LIBRARIES)):
            return ""
        return f"{_relative_path(file)}:{line or inspect.getsourcelines(known)[1]}"
    except Exception:  # must not hide the error that is being reported
        return ""


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename


def _relative_path(file: str) -> str:
    """Returns the path relative to the working directory, if the file is in it."""
    directory = os.getcwd() + os.sep
    return file[len(directory) :] if file.startswith(directory) else file
