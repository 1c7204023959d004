"""Elements as the type that a format writes, and errors where they are not of it."""

from __future__ import annotations

from typing import Any

from penstock.errors import PlanError, UserFunctionError
from penstock.row import Row
from penstock.types import Misfit, RowTypeInfo
from penstock.types.fields import FieldsTypeInfo
from penstock.types.information import has_none


def no_row_type(schema: str, given: Any) -> PlanError:
    """A format of rows got another type, or none."""
    found = "no type" if given is None else f"the type {given!r}"
    return PlanError(
        "ROW_TYPE_EXPECTED", f"{schema} got {found}; it needs one of rows, such as Types.ROW_NAMED([names], [types])."
    )


def as_type(schema: str, type_info: FieldsTypeInfo, values: list[Any]) -> list[Any]:
    """Elements as values of a type. A row whose fields have other names is taken by their places, as in Flink.

    >>> from penstock.types import Types
    >>> as_type("CSV", Types.ROW_NAMED(["id"], [Types.INT()]), [Row(f0=7), (8,)])
    [Row(id=7), Row(id=8)]
    """
    if type_info.fits(values) and not has_none(values):
        return values
    names = type_info.get_field_names() if isinstance(type_info, RowTypeInfo) else None
    converted = []
    for value in values:
        by_place = (
            names is not None
            and isinstance(value, Row)
            and value._fields is not None
            and set(value._fields) != set(names)
        )
        try:
            converted.append(type_info.convert_element(list(value) if by_place else value))
        except Misfit as misfit:
            raise UserFunctionError(
                "ELEMENT_TYPE",
                f"{schema} cannot write {value!r:.200} as {type_info!r}: {misfit}. Map elements to that type before the sink.",
            ) from None
    return converted
