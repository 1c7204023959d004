"""A bound expression of a schema, as programs see it."""

from __future__ import annotations

from penstock.runtime.relational.expressions.tree import Call, Expression
from penstock.table.data_types import DataType


class ResolvedExpression:
    """The expression of a computed column or a watermark, with its type."""

    def __init__(self, expression: Expression, text: str = "") -> None:
        self._expression = expression
        self._text = text or str(expression)

    def get_output_data_type(self) -> DataType:
        """Returns the type of the values."""
        return DataType(self._expression.type)

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """Returns the arguments, if the expression is a call."""
        inner = self._expression
        return [ResolvedExpression(argument) for argument in inner.arguments] if isinstance(inner, Call) else []

    def as_serializable_string(self) -> str:
        """Returns the expression as SQL."""
        return self._text

    def as_summary_string(self) -> str:
        """Returns the expression for people to read."""
        return self._text

    def __str__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedExpression) and other._expression == self._expression

    def __hash__(self) -> int:
        return hash(self._text)
