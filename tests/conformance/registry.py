"""Functions by name: cases whose words lean on other cases, or on code, told again in words that stand alone."""

from __future__ import annotations

import re
from typing import Any

from tests.conformance.case import Case, NotRunnableError
from tests.conformance.words import Words, read

# By the words of a case, or by its name; the name wins.
RETOLD = {
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


def words_of(case: Case) -> Words:
    """What the function of a case does."""
    told = case.params.get("function")
    words = RETOLD.get(case.told["name"]) or RETOLD.get(str(told)) or told
    if not isinstance(words, str):
        raise NotRunnableError("no function is told in words, and none is known by the case's name")
    return read(words, list(case.side_outputs))


def key_of(case: Case) -> Any:
    """The key selector that a case tells of."""
    told = str(case.params.get("key", "the value itself")).lower().strip()
    if told in ("the value itself", "the value", "the element itself", "the element", "value", "identity"):
        return _Itself()
    if told in ("one constant key", "a constant", "constant", "one key"):
        return _Constant()
    fields = {"f0": 0, "first field": 0, "the first field": 0, "f1": 1, "second field": 1, "the second field": 1}
    if told in fields:
        return _Field(fields[told])
    if numbered := re.fullmatch(r"(?:the )?field (\d+)", told):
        return _Field(int(numbered[1]))
    raise NotRunnableError(f'the key "{told}" is not understood')


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
