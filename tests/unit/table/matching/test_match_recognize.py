"""MATCH_RECOGNIZE from the text of a query to the rows of the operator, compared with what Flink answered."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from penstock.errors import PlanError, SqlValidationError, UserFunctionError
from penstock.runtime.relational.expressions.compiler import Projection
from penstock.runtime.relational.specs.operators import MatchSpec
from penstock.table import traits
from penstock.table.explain.describe import state_growth, title
from penstock.table.lower.match import match_spec
from penstock.table.passes.time_attributes import materialize_time_attributes
from penstock.table.relations import Calc, Match, Relation
from penstock.table.traits import Changelog
from penstock.types.logical.kinds import INT, STRING, TimestampType
from tests.unit.runtime.relational.driver import Change, RelationalSlot, Row, from_changes, to_changes
from tests.unit.table.binder.memory import MemoryCatalog
from tests.unit.table.matching.flink_answers import ANSWERS, TICKER

_START = datetime.datetime(2024, 1, 1, 10, tzinfo=datetime.UTC)
_TYPES = (STRING, INT, INT, TimestampType(3))


@pytest.fixture(scope="module")
def catalog() -> MemoryCatalog:
    return MemoryCatalog(
        "CREATE TABLE ticker (symbol STRING, price INT, tax INT, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)",
        "CREATE TABLE sure (symbol STRING, price INT NOT NULL, pt AS PROCTIME(), ts TIMESTAMP(3), WATERMARK FOR ts AS ts)",
    )


def _bind(catalog: MemoryCatalog, inside: str, table: str = "ticker") -> Match:
    relation: Relation = catalog.query(f"SELECT * FROM {table} MATCH_RECOGNIZE ({inside})")
    while not isinstance(relation, Match):
        [relation] = relation.inputs()
    return relation


def _input(match: Match) -> list[Row]:
    """The rows of the ticker as the operator gets them."""
    start = int(_START.timestamp()) * 10**9
    rows = [(symbol, price, tax, start + second * 10**9) for symbol, price, tax, second in TICKER]
    if not isinstance(match.input, Calc):
        return rows
    columns = Projection(match.input.projections)(to_changes(rows, _TYPES).columns, len(rows))
    changes = to_changes(rows, _TYPES)
    changes.columns = columns
    return [row for _, row in from_changes(changes, [f.type for f in match.input.row_type.fields])]


def _run(spec: MatchSpec, rows: list[Row], size: int) -> list[Change]:
    """Runs batches. The watermark is 1 second behind the rows; the operator restarts after each batch."""
    slot, found = RelationalSlot(spec), []
    time = spec.order[0].column
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        found += slot.run(part, watermark=part[-1][time] // 10**6 - 1000)
        slot.restart()
    return found + slot.run([], watermark=2**60)


def _text(value: Any, type_: Any) -> str | None:
    if isinstance(type_, TimestampType) and value is not None:
        return str(datetime.datetime.fromtimestamp(value / 10**9, datetime.UTC).replace(tzinfo=None))
    return None if value is None else str(value)


@pytest.mark.filterwarnings("ignore:DEFINE has a condition")
@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_rows_are_those_of_flink(catalog: MemoryCatalog, number: int) -> None:
    inside, wanted = ANSWERS[number]
    match = _bind(catalog, inside)
    spec = match_spec(match, traits.APPEND, "UTC")
    rows = _input(match)
    for size in (1, 4, len(rows)):
        found = _run(spec, rows, size)
        shown = [[_text(v, t) for v, t in zip(row, spec.output_types, strict=True)] for _, row in found]
        assert shown == wanted
        assert {kind for kind, _ in found} <= {"+I"}


_PATTERN = "PATTERN (A B) DEFINE B AS B.price > A.price"
_BEGIN = "PARTITION BY symbol ORDER BY ts MEASURES"


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (f"PARTITION BY symbol MEASURES A.price AS x {_PATTERN}", "either rowtime or proctime for ORDER BY"),
        (f"PARTITION BY symbol ORDER BY price MEASURES A.price AS x {_PATTERN}", "rowtime or proctime"),
        (f"PARTITION BY symbol ORDER BY ts DESC MEASURES A.price AS x {_PATTERN}", "ascending"),
        (f"PARTITION BY UPPER(symbol) ORDER BY ts MEASURES A.price AS x {_PATTERN}", "PARTITION BY"),
        (f"{_BEGIN} A.price AS x PATTERN (A B) DEFINE B AS B.price", "in DEFINE must be a boolean, found INT"),
        (f"{_BEGIN} A.price AS x PATTERN (A B) DEFINE B AS B.price > 1, B AS B.tax > 1", "already been defined"),
        (f"{_BEGIN} A.price AS x PATTERN (A B) DEFINE B AS AA.price > 1", "no variable 'AA'"),
        (f"{_BEGIN} A.price AS x PATTERN (^ A B) DEFINE B AS B.price > 1", "anchors"),
        (f"{_BEGIN} A.price AS x AFTER MATCH SKIP TO LAST C {_PATTERN}", "Unknown pattern variable 'C'"),
        (f"{_BEGIN} A.price AS x PATTERN (A B) WITHIN INTERVAL '1' MONTH DEFINE B AS B.price > 1", "WITHIN"),
        (f"{_BEGIN} SUM(A.price + B.price) AS x {_PATTERN}", "a single pattern variable"),
        (f"{_BEGIN} LAST(A.price + B.price) AS x {_PATTERN}", "a single pattern variable"),
        (f"{_BEGIN} COUNT(DISTINCT A.price) AS x {_PATTERN}", "DISTINCT"),
        (f"{_BEGIN} LAST(LAST(A.price)) AS x {_PATTERN}", "cannot be nested"),
        (f"{_BEGIN} LAST(A.price, tax) AS x {_PATTERN}", "must be a constant"),
        (f"{_BEGIN} A.price AS x, B.price AS x {_PATTERN}", "ambiguously defined: 'x'"),
        (f"{_BEGIN} A.nix AS x {_PATTERN}", "Column 'nix' not found"),
        (f"{_BEGIN} A.price AS x PATTERN (A B) DEFINE B AS MATCH_ROWTIME() > A.ts", "MEASURES only"),
    ],
)
def test_wrong_queries_are_refused(catalog: MemoryCatalog, inside: str, message: str) -> None:
    with pytest.raises(SqlValidationError) as raised:
        _bind(catalog, inside)
    assert message in str(raised.value)
    assert "^" in str(raised.value)


def test_a_skip_to_the_first_row_of_a_match_fails(catalog: MemoryCatalog) -> None:
    match = _bind(catalog, f"{_BEGIN} A.price AS x AFTER MATCH SKIP TO FIRST A {_PATTERN}")
    with pytest.raises(UserFunctionError, match="AFTER MATCH SKIP TO FIRST A could not skip"):
        _run(match_spec(match, traits.APPEND, "UTC"), _input(match), 4)


def test_a_condition_that_can_fail_sees_only_rows_that_the_pattern_asks_for(catalog: MemoryCatalog) -> None:
    """100 / (price - 12) fails for the first row, which only A may take."""
    inside = f"{_BEGIN} B.price AS x PATTERN (A B) DEFINE A AS A.price = 12, B AS 100 / (B.price - 12) > 1"
    match = _bind(catalog, inside)
    spec = match_spec(match, traits.APPEND, "UTC")
    assert _run(spec, _input(match), 4) == [("+I", ("A", 17))]


def test_explain(catalog: MemoryCatalog) -> None:
    match = _bind(
        catalog,
        f"{_BEGIN} B.price AS x AFTER MATCH SKIP TO LAST B PATTERN (A+? B{{2,}} C) WITHIN INTERVAL '1' HOUR "
        "DEFINE A AS A.price = 12",
    )
    assert title(match) == (
        "Match(partitionBy=[symbol], orderBy=[ts ASC], measures=[symbol, x], rowsPerMatch=[ONE ROW PER MATCH], "
        "after=[SKIP TO LAST B], pattern=[A+? B{2,} C], within=[3600000 ms], define=[A])"
    )
    assert "WITHIN" in state_growth(match, [traits.APPEND], 0)


def test_updates_are_refused(catalog: MemoryCatalog) -> None:
    match = _bind(catalog, f"{_BEGIN} A.price AS x {_PATTERN}")
    with pytest.raises(PlanError, match="doesn't support consuming update"):
        match_spec(match, Changelog(updates=True), "UTC")


def test_a_condition_of_an_unknown_variable_is_a_warning(catalog: MemoryCatalog) -> None:
    with pytest.warns(UserWarning, match="DEFINE has a condition for 'D'"):
        match = _bind(catalog, f"{_BEGIN} A.price AS x PATTERN (A B) DEFINE D AS D.price > 1")
    assert match.definitions == ()


def test_types(catalog: MemoryCatalog) -> None:
    """Only MATCH_ROWTIME and MATCH_PROCTIME remain time attributes. A row that may be missing has a nullable value."""
    match = _bind(
        catalog,
        "PARTITION BY symbol ORDER BY ts MEASURES A.price AS a, C.price AS c, FIRST(A.price) AS f, LAST(A.price, 1) AS l, "
        "SUM(A.price) AS s, COUNT(*) AS n, A.ts AS t, MATCH_ROWTIME() AS r, MATCH_PROCTIME() AS p PATTERN (A C? B) "
        "DEFINE B AS B.price > A.price",
        "sure",
    )
    assert [str(f.type) for f in match.row_type.fields] == [
        "STRING", "INT NOT NULL", "INT", "INT NOT NULL", "INT", "INT", "BIGINT NOT NULL", "TIMESTAMP(3) *ROWTIME*",
        "TIMESTAMP(3) NOT NULL *ROWTIME*", "TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*",
    ]  # fmt: skip
    kept = materialize_time_attributes(match).row_type.fields[-3:]
    assert [getattr(f.type, "attribute", "") for f in kept] == ["", "ROWTIME", "PROCTIME"]
