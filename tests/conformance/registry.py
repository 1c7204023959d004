"""The function and the key selector of a case, with complete texts for functions that refer to other cases."""

from __future__ import annotations

import re
from typing import Any

from tests.conformance.case import Case, NotRunnableError
from tests.conformance.function_text import FunctionScript, read

# By the function text of a case or by its name. The name takes precedence.
REWRITTEN = {
    "as above but to side outputs br-out and non-br-out, no timer": (
        'broadcast: emit "BR:<v> WM:<wm> TS:<ts>" to br-out; keyed: emit "NON-BR:<v> WM:<wm> TS:<ts>" to non-br-out'
    ),
    "event_time_timer_with_state": (
        'first element of a key: emit "INPUT:<v>", store it, register an event timer at watermark+5; '
        'otherwise: clear state, delete an event timer at watermark+4; on timer: emit "STATE:<state>"'
    ),
    "processing_time_timer_with_state": (
        'first element of a key: emit "INPUT:<v>", store it, register a processing timer at now+5; '
        'otherwise: clear state, delete a processing timer at now+4; on timer: emit "STATE:<state>"'
    ),
    "query_processing_time_and_timestamp": 'emit "<v>TIME:<processing time> TS:<element timestamp>"',
}


def script_of(case: Case) -> FunctionScript:
    """Returns the function of a case."""
    specified = case.params.get("function")
    text = REWRITTEN.get(case.fields["name"]) or REWRITTEN.get(str(specified)) or specified
    if not isinstance(text, str):
        raise NotRunnableError("no function is specified, and there is no function for the name of the case")
    return read(text, list(case.side_outputs))


def key_of(case: Case) -> Any:
    """Returns the key selector of a case."""
    text = str(case.params.get("key", "the value itself")).lower().strip()
    if text in ("the value itself", "the value", "the element itself", "the element", "value", "identity"):
        return _Itself()
    if text in ("one constant key", "a constant", "constant", "one key"):
        return _Constant()
    fields = {"f0": 0, "first field": 0, "the first field": 0, "f1": 1, "second field": 1, "the second field": 1}
    if text in fields:
        return _Field(fields[text])
    if numbered := re.fullmatch(r"(?:the )?field (\d+)", text):
        return _Field(int(numbered[1]))
    raise NotRunnableError(f'the key "{text}" is not understood')


class _Itself:
    def __call__(self, value: Any) -> Any:
        return value


class _Constant:
    def __call__(self, value: Any) -> Any:
        return "one"


class _Field:
    def __init__(self, at: int) -> None:
        self._at = at

    def __call__(self, value: Any) -> Any:
        return value[self._at]
