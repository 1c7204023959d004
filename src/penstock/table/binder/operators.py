"""Nodes of binary operators and the functions of the registry that compute them."""

from __future__ import annotations

from sqlglot import exp

BINARY_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS_NOT_DISTINCT_FROM",
    exp.NullSafeNEQ: "IS_DISTINCT_FROM",
    exp.And: "AND",
    exp.Or: "OR",
}
