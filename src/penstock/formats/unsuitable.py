"""Errors of formats that were given another type, or another element, than they write."""

from __future__ import annotations

from typing import Any

from penstock.errors import PlanError, UserFunctionError
from penstock.types import Misfit, TypeInformation


def no_row_type(schema: str, given: Any) -> PlanError:
    """A format of rows got another type, or none."""
    found = "no type" if given is None else f"the type {given!r}"
    return PlanError(
        "ROW_TYPE_EXPECTED", f"{schema} got {found}; it needs one of rows, such as Types.ROW_NAMED([names], [types])."
    )


def unsuitable(schema: str, type_info: TypeInformation, values: list[Any], error: Exception) -> Exception:
    """An element does not fit the type that it is to be written as: says which one."""
    for value in values:
        try:
            type_info.convert_element(value)
        except Misfit as misfit:
            return UserFunctionError(
                "ELEMENT_TYPE",
                f"{schema} cannot write {value!r:.200} as {type_info!r}: {misfit}. Map elements to that type before the sink.",
            )
    return error
