"""Expressions as text, in plans and errors."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.runtime.relational.expressions.tree import Column, Expression, Literal, python_function

_INFIX = {"+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "||", "LIKE"}


def expression_text(expression: Expression, names: Sequence[str] = ()) -> str:
    """Returns an expression as SQL-like text. Columns without a name in `names` have their own.

    >>> from penstock.runtime.relational.expressions.tree import Call
    >>> from penstock.types.logical.kinds import INT
    >>> expression_text(Call("+", (Column(0, INT), Literal(1, INT)), INT), ["a"])
    '(a + 1)'
    """
    match expression:
        case Column():
            return names[expression.index] if expression.index < len(names) else str(expression)
        case Literal():
            return "NULL" if expression.value is None else str(expression)
    parts = [expression_text(a, names) for a in expression.arguments]
    if (python := python_function(expression)) is not None:
        return f"{python.label}({', '.join(parts)})"
    if expression.function in _INFIX and len(parts) == 2:
        return f"({parts[0]} {expression.function} {parts[1]})"
    options = [str(o) for o in expression.options if o is not None]
    if expression.function in ("CAST", "TRY_CAST"):
        return f"{expression.function}({parts[0]} AS {expression.type.with_nullable(True)})"
    return f"{expression.function}({', '.join(parts + options)})"
