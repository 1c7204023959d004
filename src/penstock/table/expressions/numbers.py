"""Methods of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.expressions.base import ExpressionBase, call_text
from penstock.table.expressions.unit_calls import rounded
from penstock.table.expressions.units import TimeIntervalUnit

if TYPE_CHECKING:
    from penstock.table.expressions.expression import Expression


class Numbers(ExpressionBase):
    """Mathematics. `floor` and `ceil` round points in time, too."""

    @property
    def exp(self) -> Expression[float]:
        """e to the power of the number."""
        return self._call("EXP", "exp")

    @property
    def log10(self) -> Expression[float]:
        """The logarithm to base 10."""
        return self._call("LOG10", "log10")

    @property
    def log2(self) -> Expression[float]:
        """The logarithm to base 2."""
        return self._call("LOG2", "log2")

    @property
    def ln(self) -> Expression[float]:
        """The natural logarithm."""
        return self._call("LN", "ln")

    def log(self, base: object = None) -> Expression[float]:
        """The logarithm to a base, or the natural logarithm."""
        return self._call("LOG", "log") if base is None else self._function("LOG", "log", base, self)

    @property
    def cosh(self) -> Expression[float]:
        """The hyperbolic cosine."""
        return self._call("COSH", "cosh")

    @property
    def sinh(self) -> Expression[float]:
        """The hyperbolic sine."""
        return self._call("SINH", "sinh")

    @property
    def tanh(self) -> Expression[float]:
        """The hyperbolic tangent."""
        return self._call("TANH", "tanh")

    @property
    def sin(self) -> Expression[float]:
        """The sine."""
        return self._call("SIN", "sin")

    @property
    def cos(self) -> Expression[float]:
        """The cosine."""
        return self._call("COS", "cos")

    @property
    def tan(self) -> Expression[float]:
        """The tangent."""
        return self._call("TAN", "tan")

    @property
    def cot(self) -> Expression[float]:
        """The cotangent."""
        return self._call("COT", "cot")

    @property
    def asin(self) -> Expression[float]:
        """The arc sine."""
        return self._call("ASIN", "asin")

    @property
    def acos(self) -> Expression[float]:
        """The arc cosine."""
        return self._call("ACOS", "acos")

    @property
    def atan(self) -> Expression[float]:
        """The arc tangent."""
        return self._call("ATAN", "atan")

    @property
    def degrees(self) -> Expression[float]:
        """Converts radians to degrees."""
        return self._call("DEGREES", "degrees")

    @property
    def radians(self) -> Expression[float]:
        """Converts degrees to radians."""
        return self._call("RADIANS", "radians")

    @property
    def sqrt(self) -> Expression[float]:
        """The square root."""
        return self._call("SQRT", "sqrt")

    @property
    def abs(self) -> Expression[Any]:
        """The absolute value."""
        return self._call("ABS", "abs")

    @property
    def sign(self) -> Expression[Any]:
        """-1, 0 or 1."""
        return self._call("SIGN", "sign")

    def round(self, places: object) -> Expression[Any]:
        """Rounds to a number of digits behind the point."""
        return self._call("ROUND", "round", places)

    def truncate(self, n: object = 0) -> Expression[Any]:
        """Cuts all but n digits behind the point off."""
        return self._call("TRUNCATE", "truncate", n)

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """The largest integer that is not larger; with a unit, the start of the unit of time that the value lies in."""
        return self._new(
            rounded("FLOOR", self.node, time_interval_unit), self._rounded_text("floor", time_interval_unit)
        )

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """The smallest integer that is not smaller; with a unit, the end of the unit of time that the value lies in."""
        return self._new(rounded("CEIL", self.node, time_interval_unit), self._rounded_text("ceil", time_interval_unit))

    def _rounded_text(self, name: str, unit: TimeIntervalUnit | None) -> str:
        return call_text(name, self) if unit is None else call_text(name, self, unit)

    @property
    def bin(self) -> Expression[str]:
        """The integer in binary digits."""
        return self._call("BIN", "bin")

    @property
    def hex(self) -> Expression[str]:
        """The integer or the text in hexadecimal digits."""
        return self._call("HEX", "hex")

    @property
    def unhex(self) -> Expression[bytes]:
        """The bytes of hexadecimal digits."""
        return self._call("UNHEX", "UNHEX")
