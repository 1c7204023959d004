"""Whole batches of elements as what was declared for them."""

from __future__ import annotations

from typing import Any

from penstock.errors import ElementError
from penstock.types.information import Misfit, TypeInformation


def checked(operator: str, line: str, declared: TypeInformation, values: list[Any]) -> list[Any]:
    """The elements, converted where they mean the same; the first one that does not fit is an error.

    >>> from penstock.types import Types
    >>> checked("parse", "job.py:3", Types.INT(), [1, "2"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    penstock.errors.ElementError: [ELEMENT_TYPE] ...
    """
    try:
        return declared.convert_all(values)
    except Misfit:
        found, misfit = _first_misfit(declared, values)
    text = repr(found)
    raise ElementError(
        "ELEMENT_TYPE",
        f"'{operator}' ({line}) is declared to give {declared.name}, and element "
        f"{text if len(text) <= 200 else text[:200] + '...'} does not fit: {misfit}. "
        "Change what it gives, or the declared type.",
    )


def _first_misfit(declared: TypeInformation, values: list[Any]) -> tuple[Any, Misfit]:
    for value in values:
        try:
            declared.convert_element(value)
        except Misfit as misfit:
            return value, misfit
    raise AssertionError("a type refused elements together that it takes one by one")
