"""Calls with a unit of time."""

from __future__ import annotations

from sqlglot import exp

from penstock.table.dialect import nodes
from penstock.table.expressions.units import TimeIntervalUnit, TimePointUnit


def rounded(name: str, value: exp.Expr, unit: TimeIntervalUnit | None) -> exp.Expr:
    """Returns FLOOR(value) or FLOOR(value TO unit)."""
    call = nodes.Call(this=name, expressions=[value])
    if unit is not None:
        call.set("unit", unit.name)
    return call


def with_unit(name: str, unit: TimeIntervalUnit | TimePointUnit, *values: exp.Expr) -> exp.Expr:
    """Returns EXTRACT(unit FROM value) and the like."""
    return nodes.Call(this=name, unit=unit.name, expressions=list(values))
