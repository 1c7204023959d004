"""A user's function raised: finds out where, and says it in the words of the user's program."""

from __future__ import annotations

import inspect
import linecache
import os
import sysconfig
import traceback
from types import FrameType
from typing import Any

from penstock.errors import FailedCall, PenstockError, TimeError, UserFunctionError
from penstock.redaction import redacted

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARIES = tuple({sysconfig.get_path(p) + os.sep for p in ("stdlib", "platstdlib", "purelib", "platlib")})
_LONGEST = 200
_MOST_FRAMES = 20


def shortened(value: Any) -> str:
    """What a value looks like, within bounds; never fails.

    >>> shortened("a" * 300)[-5:]
    'aa...'
    """
    try:
        text = redacted(repr(value))
    except Exception as error:
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def failure(error: Exception, *, function: Any = None, has_timestamp: bool = True, **known: Any) -> PenstockError:
    """The error to raise for a call that raised; `known` are fields of FailedCall.

    An error of ours keeps its class and code and gets the place; one that has its place already stays as it is.
    """
    if isinstance(error, PenstockError) and error.failed is not None:
        return error
    if (pattern := getattr(error, "penstock_pattern", None)) is not None:  # put there by runtime/cep/matcher.py
        known["pattern"] = pattern
    failed, line = _failed_call(error, known)
    if not failed.place:
        failed.place = place_of(function)
    if isinstance(error, PenstockError):
        failed.ours = error.text
        return _told(failed, error)
    if isinstance(error, TypeError) and not failed.stack and failed.message.endswith("object is not iterable"):
        failed.message += " (the function must yield its elements, or return a list of them, or None)"
    if not has_timestamp and isinstance(error, TypeError) and "NoneType" in failed.message and "timestamp" in line:
        ours = TimeError(
            "ELEMENT_WITHOUT_TIMESTAMP",
            f"`{line}` needs the element's timestamp, and ctx.timestamp() is None: the element has none. Call "
            "assign_timestamps_and_watermarks with a timestamp assigner before this operator.",
        )
        failed.ours = ours.text
        return _told(failed, ours)
    return _told(failed)


def _told(failed: FailedCall, ours: PenstockError | None = None) -> PenstockError:
    error: PenstockError
    raised = f"'{failed.name}'{failed.of_uid()} raised {failed.error}: {failed.message}{failed.details()}"
    if ours is not None:
        error = type(ours)(ours.code, f"{failed.ours} (In {failed.where()}.)")
    elif failed.role == "Source":
        error = UserFunctionError(
            "SOURCE_FAILED",
            f"Source {raised}. Nothing of the batch was committed: mend the source, or what it reads, and resume.",
        )
    elif failed.role == "Sink":
        error = UserFunctionError(
            "SINK_FAILED",
            f"Sink {raised}. The batch was not committed: mend the sink, or what it writes to, and resume.",
        )
    else:
        error = UserFunctionError(
            "USER_FUNCTION",
            f"Operator {raised}. The batch was not committed: mend the function and resume, or give the operator "
            'on_error="dead_letter" to put such elements aside.',
        )
    error.failed = failed
    if failed.stack:
        error.add_note(failed.stack)
    return error


def _failed_call(error: Exception, known: dict[str, Any]) -> tuple[FailedCall, str]:
    """What the exception itself says of the call, and the user's line that raised it."""
    frames = [(f, n) for f, n in traceback.walk_tb(error.__traceback__) if not _file(f).startswith(_PACKAGE)]
    own = [(f, n) for f, n in frames if not _file(f).startswith((*_LIBRARIES, "<frozen"))]
    place = function = line = ""
    if frames:
        frame, number = (own or frames)[-1]
        place = f"{_near(_file(frame))}:{number}"
        function = frame.f_code.co_qualname.rpartition("<locals>.")[2]
        line = linecache.getline(_file(frame), number).strip()
    try:
        message = redacted(str(error))
    except Exception as another:
        message = f"<its message raises {type(another).__name__}>"
    stack = "".join(traceback.StackSummary.extract(iter(frames[-_MOST_FRAMES:])).format()).rstrip()
    stack = f"In the program:\n{redacted(stack)}" if stack else ""
    call = FailedCall(error=type(error).__name__, message=message, function=function, place=place, stack=stack, **known)
    return call, line


def place_of(function: Any) -> str:
    """File and line where a function of the user's, or the class of an object, is defined; nothing if that is not known."""
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
        return f"{_near(file)}:{line or inspect.getsourcelines(known)[1]}"
    except Exception:  # whatever it is: it must not hide the error that is being told
        return ""


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename


def _near(file: str) -> str:
    """A file as seen from the working folder, if it is in there."""
    here = os.getcwd() + os.sep
    return file[len(here) :] if file.startswith(here) else file
