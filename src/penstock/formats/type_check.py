"""Converts elements to the type that a format writes."""

from __future__ import annotations

from typing import Any

from penstock.errors import PlanError, UserFunctionError
from penstock.row import Row
from penstock.types import Misfit, RowTypeInfo
from penstock.types.fields import FieldsTypeInfo
from penstock.types.information import has_none


def row_type_error(schema: str, type_info: Any) -> PlanError:
    """Returns the error for a row format with another type, or without a type."""
    found = "no type" if type_info is None else f"the type {type_info!r}"
    return PlanError(
        "ROW_TYPE_EXPECTED",
        f"{schema} got {found}; expected a row type, such as Types.ROW_NAMED([names], [types]).",
    )


def convert_elements_to(schema: str, type_info: FieldsTypeInfo, values: list[Any]) -> list[Any]:
    """Converts elements to a type. As in Flink, the fields of a row with other names are matched by position.

    >>> from penstock.types import Types
    >>> convert_elements_to("CSV", Types.ROW_NAMED(["id"], [Types.INT()]), [Row(f0=7), (8,)])
    [Row(id=7), Row(id=8)]
    """
    if type_info.fits(values) and not has_none(values):
        return values
    names = type_info.get_field_names() if isinstance(type_info, RowTypeInfo) else None
    converted = []
    for value in values:
        by_position = (
            names is not None
            and isinstance(value, Row)
            and value._fields is not None
            and set(value._fields) != set(names)
        )
        try:
            converted.append(type_info.convert_element(list(value) if by_position else value))
        except Misfit as misfit:
            raise UserFunctionError(
                "ELEMENT_TYPE",
                f"{schema} cannot write {value!r:.200} as {type_info!r}: {misfit}. Map the elements to that type before the sink.",
            ) from None
    return converted
