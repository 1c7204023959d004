"""Checks the emissions of a call against the declared type."""

from __future__ import annotations

from typing import Any

from penstock.functions import OutputTag
from penstock.runtime.loop.operator import TimestampedResult
from penstock.types import TypeInformation
from penstock.types.check import convert_elements


def check_emissions(operator: str, line: str, declared: TypeInformation, emitted: list[Any]) -> list[Any]:
    """Converts the emissions of a call to the declared type. Raises an ElementError for the first one that does not fit.

    Values of side outputs are checked against the types of their tags.

    >>> from penstock.types import Types
    >>> check_emissions("parse", "job.py:3", Types.DOUBLE(), [1, (OutputTag("bad"), "x")])
    [1.0, (OutputTag('bad'), 'x')]
    """
    return [_check(operator, line, declared, value) for value in emitted]


def _check(operator: str, line: str, declared: TypeInformation, value: Any) -> Any:
    if value.__class__ is TimestampedResult:
        return TimestampedResult(_check(operator, line, declared, value.value), value.timestamp)
    if value.__class__ is tuple and value and value[0].__class__ is OutputTag:
        tag, inner = value
        if not tag.type_info.converts:
            return value
        return tag, convert_elements(f"{operator}' side output '{tag.tag_id}", line, tag.type_info, [inner])[0]
    return convert_elements(operator, line, declared, [value])[0]
