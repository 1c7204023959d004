"""The type of decimal numbers with a fixed precision and scale, as in tables."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Any

from penstock.types.basic import BasicType, BasicTypeInfo
from penstock.types.information import Misfit, non_null


class DecimalTypeInfo(BasicTypeInfo):
    """DECIMAL(precision, scale). Values are rounded to the scale, half up as in Flink.

    >>> DecimalTypeInfo(2, 0).convert("1.5")
    Decimal('2')
    >>> DecimalTypeInfo(2, 0).convert(99.5)
    Traceback (most recent call last):
        ...
    penstock.types.information.Misfit: 99.5 has too many digits for DECIMAL(2, 0)
    """

    def __init__(self, precision: int, scale: int) -> None:
        super().__init__(BasicType.BIG_DEC)
        if not 1 <= precision <= 38 or not 0 <= scale <= precision:
            raise ValueError(
                f"DECIMAL({precision}, {scale}): the precision must be from 1 to 38, and the scale from 0 to the precision."
            )
        self.precision = precision
        self.scale = scale
        self.name = f"DECIMAL({precision}, {scale})"
        self._unit = decimal.Decimal(1).scaleb(-scale)
        self._context = decimal.Context(prec=76, rounding=decimal.ROUND_HALF_UP)

    def __repr__(self) -> str:
        return self.name

    def fits(self, values: Sequence[Any]) -> bool:
        present = non_null(values)
        return super().fits(present) and all(v.is_finite() and self._has_form(v) for v in present)

    def _has_form(self, value: decimal.Decimal) -> bool:
        return value.as_tuple().exponent == -self.scale and len(value.as_tuple().digits) <= self.precision

    def convert(self, value: Any) -> decimal.Decimal:
        exact: decimal.Decimal = super().convert(value)
        if exact.is_finite() and exact.adjusted() < 39:
            rounded = exact.quantize(self._unit, context=self._context)
            if self._has_form(rounded):
                return rounded
        raise Misfit(f"{value} has too many digits for {self.name}")
