"""Operators of Python, and conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import PlanError
from penstock.table.dialect import nodes
from penstock.table.expressions.base import ExpressionBase, call_text, node_of

if TYPE_CHECKING:
    from penstock.table.expressions.expression import Expression


class Operators(ExpressionBase):
    """Comparisons, logic and arithmetic. The other operand may be a value of Python.

    `&`, `|` and `~` are AND, OR and IS NOT TRUE, because Python has no own operators for them.
    """

    __hash__ = ExpressionBase.__hash__
    __iter__ = None  # there is __getitem__, but an expression has no elements

    def __bool__(self) -> bool:
        raise PlanError(
            "TABLE_EXPRESSION",
            f"The expression {self} has no value before the query runs, so that it is neither true nor false. Write & for "
            "and, | for or, ~ for not, and if_then_else for if.",
        )

    def __eq__(self, other: object) -> Expression[bool]:  # type: ignore[override]
        return self._binary(exp.EQ, "equals", self, other)

    def __ne__(self, other: object) -> Expression[bool]:  # type: ignore[override]
        return self._binary(exp.NEQ, "notEquals", self, other)

    def __lt__(self, other: object) -> Expression[bool]:
        return self._binary(exp.LT, "lessThan", self, other)

    def __gt__(self, other: object) -> Expression[bool]:
        return self._binary(exp.GT, "greaterThan", self, other)

    def __le__(self, other: object) -> Expression[bool]:
        return self._binary(exp.LTE, "lessThanOrEqual", self, other)

    def __ge__(self, other: object) -> Expression[bool]:
        return self._binary(exp.GTE, "greaterThanOrEqual", self, other)

    def __and__(self, other: object) -> Expression[bool]:
        return self._binary(exp.And, "and", self, other)

    def __or__(self, other: object) -> Expression[bool]:
        return self._binary(exp.Or, "or", self, other)

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> Expression[bool]:
        return self.is_not_true

    def __add__(self, other: object) -> Expression[Any]:
        return self._binary(nodes.Plus, "plus", self, other)

    def __radd__(self, other: object) -> Expression[Any]:
        return self._binary(nodes.Plus, "plus", other, self)

    def __sub__(self, other: object) -> Expression[Any]:
        return self._binary(exp.Sub, "minus", self, other)

    def __rsub__(self, other: object) -> Expression[Any]:
        return self._binary(exp.Sub, "minus", other, self)

    def __mul__(self, other: object) -> Expression[Any]:
        return self._binary(exp.Mul, "times", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Expression[Any]:
        return self._binary(exp.Div, "divide", self, other)

    def __rtruediv__(self, other: object) -> Expression[Any]:
        return self._binary(exp.Div, "divide", other, self)

    def __mod__(self, other: object) -> Expression[Any]:
        return self._binary(exp.Mod, "mod", self, other)

    def __rmod__(self, other: object) -> Expression[Any]:
        return self._binary(exp.Mod, "mod", other, self)

    def __pow__(self, other: object) -> Expression[float]:
        return self._call("POWER", "power", other)

    def __rpow__(self, other: object) -> Expression[float]:
        return self._function("POWER", "power", other, self)

    def __neg__(self) -> Expression[Any]:
        return self._new(exp.Neg(this=self.node), call_text("minusPrefix", self))

    def __abs__(self) -> Expression[Any]:
        return self._call("ABS", "abs")

    # -------------------------------------------------------------------------------------------- conditions

    def between(self, lower_bound: object, upper_bound: object) -> Expression[bool]:
        """Whether the value is from one bound to the other, both included."""
        return self._built(_between, "between", lower_bound, upper_bound)

    def not_between(self, lower_bound: object, upper_bound: object) -> Expression[bool]:
        """Whether the value is below the first or above the second bound."""
        return self._built(lambda *parts: exp.Not(this=_between(*parts)), "notBetween", lower_bound, upper_bound)

    def then(self, if_true: object, if_false: object) -> Expression[Any]:
        """Returns the first value where this condition is true, and the second one where it is false or NULL."""
        return self._built(case_of, "ifThenElse", if_true, if_false)

    def if_null(self, null_replacement: object) -> Expression[Any]:
        """Returns the value, or the replacement where it is NULL."""
        return self._call("IFNULL", "IFNULL", null_replacement)

    @property
    def is_null(self) -> Expression[bool]:
        """Whether the value is NULL."""
        return self._is(exp.Null(), False, "isNull")

    @property
    def is_not_null(self) -> Expression[bool]:
        """Whether the value is not NULL."""
        return self._is(exp.Null(), True, "isNotNull")

    @property
    def is_true(self) -> Expression[bool]:
        """Whether the condition is true, and neither false nor NULL."""
        return self._is(exp.Boolean(this=True), False, "isTrue")

    @property
    def is_false(self) -> Expression[bool]:
        """Whether the condition is false, and neither true nor NULL."""
        return self._is(exp.Boolean(this=False), False, "isFalse")

    @property
    def is_not_true(self) -> Expression[bool]:
        """Whether the condition is false or NULL."""
        return self._is(exp.Boolean(this=True), True, "isNotTrue")

    @property
    def is_not_false(self) -> Expression[bool]:
        """Whether the condition is true or NULL."""
        return self._is(exp.Boolean(this=False), True, "isNotFalse")

    def _is(self, test: exp.Expr, negative: bool, text: str) -> Expression[bool]:
        found: exp.Expr = exp.Is(this=self.node, expression=test)
        return self._new(exp.Not(this=found) if negative else found, call_text(text, self))

    def in_(self, first_element_or_table: object, *remaining_elements: object) -> Expression[bool]:
        """Whether the value is one of these values, or one of the rows of a table with one column."""
        query = getattr(type(first_element_or_table), "subquery_node", None)
        if query is not None:
            if remaining_elements:
                raise PlanError("TABLE_EXPRESSION", "in_ takes one table, or values. Union the tables first.")
            node = exp.In(this=self.node, query=query(first_element_or_table))
            return self._new(node, f"in({self}, {type(first_element_or_table).__name__})")
        values = (first_element_or_table, *remaining_elements)
        node = exp.In(this=self.node, expressions=[node_of(v) for v in values])
        return self._new(node, call_text("in", self, *values))


def _between(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    return exp.Between(this=value, low=low, high=high, symmetric=False)


def case_of(test: exp.Expr, if_true: exp.Expr, if_false: exp.Expr) -> exp.Expr:
    """Returns CASE WHEN test THEN if_true ELSE if_false END."""
    return exp.Case(ifs=[exp.If(this=test, true=if_true)], default=if_false)
