"""Writes an expression with a pair of parentheses around every operator, so that tests can see what belongs together."""

from __future__ import annotations

from sqlglot import exp

OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.GTE: ">=",
    exp.And: "AND",
    exp.Or: "OR",
    exp.Is: "IS",
    exp.Like: "LIKE",
    exp.Escape: "ESCAPE",
}


def grouped(node: exp.Expr) -> str:
    if isinstance(node, exp.Paren):
        return grouped(node.this)
    if isinstance(node, exp.Dot):
        return f"{grouped(node.this)}.{node.expression.name}"
    if isinstance(node, exp.Binary):
        operator = OPERATORS.get(type(node), type(node).__name__.upper())
        return f"({grouped(node.this)} {operator} {grouped(node.expression)})"
    if isinstance(node, exp.Not):
        return f"(NOT {grouped(node.this)})"
    if isinstance(node, exp.Neg):
        return f"(- {grouped(node.this)})"
    if isinstance(node, exp.Between):
        return f"({grouped(node.this)} BETWEEN {grouped(node.args['low'])} AND {grouped(node.args['high'])})"
    if isinstance(node, exp.In):
        return f"({grouped(node.this)} IN ({', '.join(grouped(value) for value in node.expressions)}))"
    if isinstance(node, exp.Bracket):
        return f"{grouped(node.this)}[{grouped(node.expressions[0])}]"
    if isinstance(node, exp.Literal):
        return f"'{node.this}'" if node.is_string else node.name
    return "NULL" if isinstance(node, exp.Null) else str(node.name)
