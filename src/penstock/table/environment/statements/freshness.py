"""FRESHNESS of materialized tables."""

from __future__ import annotations

from penstock.runtime.relational.expressions.tree import Literal
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.scope import Scope
from penstock.table.catalog.errors import refusal
from penstock.table.connectors.options import parse_duration
from penstock.table.dialect.nodes import IntervalLiteral
from penstock.table.dialect.position import position
from penstock.table.environment.session import Session

DEFAULT_FRESHNESS = "materialized-table.default-freshness.continuous"  # the key of Flink
_THREE_MINUTES = 180_000
_UNITS = ("SECOND", "MINUTE", "HOUR", "DAY")


def freshness(session: Session, literal: object, text: str) -> int:
    """Returns the milliseconds of FRESHNESS, or the default."""
    if literal is None:
        written = session.config.get(DEFAULT_FRESHNESS)
        try:
            return _THREE_MINUTES if written is None else parse_duration(written)
        except ValueError:
            raise refusal("SQL_OPTION", f"'{DEFAULT_FRESHNESS}' is '{written}'; expected such as '3 min'.") from None
    assert isinstance(literal, IntervalLiteral)
    place = position(literal)
    qualifier = literal.args["qualifier"]
    if qualifier.start not in _UNITS or qualifier.end is not None:
        raise refusal(
            "SQL_MATERIALIZED",
            f"FRESHNESS is INTERVAL {qualifier}; expected one of the units {', '.join(_UNITS)}, such as INTERVAL '30' SECOND.",
            *place,
        )
    bound = ExpressionBinder(Scope(), text).bind(literal)
    assert isinstance(bound, Literal)
    amount = int(bound.value)
    if amount <= 0:
        raise refusal("SQL_MATERIALIZED", "FRESHNESS must be longer than zero, such as INTERVAL '30' SECOND.", *place)
    return amount


def freshness_text(millis: int) -> str:
    """Returns the literal of a freshness.

    >>> freshness_text(180_000), freshness_text(1500)
    ("INTERVAL '3' MINUTE", "INTERVAL '1.500' SECOND")
    """
    for unit, size in (("DAY", 86_400_000), ("HOUR", 3_600_000), ("MINUTE", 60_000), ("SECOND", 1000)):
        if millis % size == 0:
            return f"INTERVAL '{millis // size}' {unit}"
    return f"INTERVAL '{millis // 1000}.{millis % 1000:03d}' SECOND"
