"""Conversion of the elements of a batch to the declared type."""

from __future__ import annotations

from typing import Any

from penstock.errors import ElementError
from penstock.types.information import Misfit, TypeInformation


def convert_elements(operator: str, line: str, declared: TypeInformation, values: list[Any]) -> list[Any]:
    """Converts elements to the declared type. Raises ElementError for the first element that does not fit.

    >>> from penstock.types import Types
    >>> convert_elements("parse", "job.py:3", Types.INT(), [1, "2"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    penstock.errors.ElementError: [ELEMENT_TYPE] ...
    """
    try:
        return declared.convert_all(values)
    except Misfit:
        element, misfit = _first_misfit(declared, values)
    text = repr(element)
    raise ElementError(
        "ELEMENT_TYPE",
        f"The declared output type of '{operator}' ({line}) is {declared.name}, but element "
        f"{text if len(text) <= 200 else text[:200] + '...'} does not fit: {misfit}. "
        "Change what the operator returns, or declare another type.",
    )


def _first_misfit(declared: TypeInformation, values: list[Any]) -> tuple[Any, Misfit]:
    for value in values:
        try:
            declared.convert_element(value)
        except Misfit as misfit:
            return value, misfit
    raise AssertionError("convert_all raised Misfit, but convert_element accepts every element")
