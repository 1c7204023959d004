"""What one call emitted, as what was declared for it."""

from __future__ import annotations

from typing import Any

from penstock.functions import OutputTag
from penstock.runtime.stamped import Stamped
from penstock.types import TypeInformation
from penstock.types.check import checked


def fitting(operator: str, line: str, declared: TypeInformation, emitted: list[Any]) -> list[Any]:
    """The emissions of a call, converted where they mean the same; an ElementError for the first that does not fit.

    Values of side outputs are checked by the types of their tags.

    >>> from penstock.types import Types
    >>> fitting("parse", "job.py:3", Types.DOUBLE(), [1, (OutputTag("bad"), "x")])
    [1.0, (OutputTag('bad'), 'x')]
    """
    return [_fit(operator, line, declared, value) for value in emitted]


def _fit(operator: str, line: str, declared: TypeInformation, value: Any) -> Any:
    if value.__class__ is Stamped:
        return Stamped(_fit(operator, line, declared, value.value), value.timestamp)
    if value.__class__ is tuple and value and value[0].__class__ is OutputTag:
        tag, inner = value
        if not tag.type_info.declared:
            return value
        return tag, checked(f"{operator}' side output '{tag.tag_id}", line, tag.type_info, [inner])[0]
    return checked(operator, line, declared, [value])[0]
