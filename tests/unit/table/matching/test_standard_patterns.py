"""Queries with MATCH_RECOGNIZE that Flink refuses: which they are, their columns, plans, times and errors."""

from __future__ import annotations

import json

import pytest

from penstock.errors import SqlValidationError, StateError, UserFunctionError
from penstock.runtime.relational.specs.operators import MatchSpec
from penstock.table import traits
from penstock.table.explain.describe import state_growth, title
from penstock.table.lower.match import match_spec
from penstock.table.passes.time_attributes import materialize_time_attributes
from penstock.table.plans.codec import PlanDecoder, PlanEncoder
from penstock.table.relations import Match, Relation
from penstock.time import MAX_WATERMARK
from tests.unit.runtime.relational.driver import RelationalSlot
from tests.unit.table.binder.memory import MemoryCatalog

_CATALOG = MemoryCatalog(
    "CREATE TABLE t (k INT NOT NULL, ts TIMESTAMP(3), v INT NOT NULL, pt AS PROCTIME(), WATERMARK FOR ts AS ts)",
)


def _bind(inside: str) -> Match:
    relation: Relation = _CATALOG.query(f"SELECT * FROM t MATCH_RECOGNIZE ({inside})")
    while not isinstance(relation, Match):
        [relation] = relation.inputs()
    return relation


def _spec(inside: str) -> MatchSpec:
    return match_spec(_bind(inside), traits.APPEND, "UTC")


_DEFINE = "DEFINE A AS A.v > 0"
_BEGIN = "PARTITION BY k ORDER BY ts MEASURES"


@pytest.mark.parametrize("pattern", ["A B+ C", "A B{2}", "A B{,2} C", "(A B) C", "A B+?", "A B?", "A* B"])
def test_patterns_of_flink_have_the_matches_of_flink(pattern: str) -> None:
    match = _bind(f"{_BEGIN} B.v AS b PATTERN ({pattern}) {_DEFINE}")
    assert (match.tree, str(match.skip), match.previous, match.subsets, match.all_rows) == (
        None, "TO NEXT ROW", None, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("inside", "shown"),
    [
        ("B.v AS b PATTERN (A B+)", "A B+"),
        ("B.v AS b PATTERN (A* B*)", "A* B*"),
        ("B.v AS b PATTERN (A+ B? C)", "A+ B? C"),
        ("B.v AS b PATTERN (A?? B)", "A?? B"),
        ("B.v AS b PATTERN (A B A)", "A B A"),
        ("B.v AS b PATTERN ((A | B C){2,})", "(A | B C){2,}"),
        ("B.v AS b PATTERN ((A B)+? C | ())", "(A B)+? C | ()"),
        ("B.v AS b PATTERN (PERMUTE(A, B+))", "A B+ | B+ A"),
        ("B.v AS b ALL ROWS PER MATCH PATTERN (A {- B+ -} C)", "A {- B+ -} C"),
        ("B.v AS b PATTERN (A B) SUBSET S = (A, B)", "A B"),
        ("CLASSIFIER() AS b PATTERN (A B)", "A B"),
        ("MATCH_NUMBER() AS b PATTERN (A B)", "A B"),
        ("PREV(A.v) AS b PATTERN (A B)", "A B"),
    ],
)
def test_the_others_have_those_of_the_standard(inside: str, shown: str) -> None:
    match = _bind(f"{_BEGIN} {inside} {_DEFINE}")
    assert (match.pattern, str(match.tree), str(match.skip)) == ((), shown, "PAST LAST ROW")


def test_columns() -> None:
    """The columns of the partition and of the order are before the measures, the others behind them."""
    inside = f"{_BEGIN} A.v AS a, B.v AS b, COUNT(*) AS n, MATCH_ROWTIME() AS rt, FINAL LAST(B.v) AS f %s PATTERN (A B+) {_DEFINE}"
    match = _bind(inside % "ALL ROWS PER MATCH")
    assert [f"{f.name} {f.type}" for f in match.row_type.fields] == [
        "k INT NOT NULL", "ts TIMESTAMP(3)", "a INT", "b INT", "n BIGINT NOT NULL", "rt TIMESTAMP(3) NOT NULL *ROWTIME*",
        "f INT NOT NULL", "v INT NOT NULL", "pt TIMESTAMP_LTZ(3) NOT NULL",
    ]  # fmt: skip
    assert materialize_time_attributes(match).row_type == match.row_type
    unmatched = _bind(inside % "ALL ROWS PER MATCH WITH UNMATCHED ROWS")
    assert [f.name for f in unmatched.row_type.fields if not f.type.nullable] == ["k", "v", "pt"]
    one = _bind(inside % "")
    assert [f"{f.name} {f.type}" for f in one.row_type.fields][:3] == [
        "k INT NOT NULL",
        "a INT NOT NULL",
        "b INT NOT NULL",
    ]
    empty = _bind(f"{_BEGIN} v AS a, CLASSIFIER() AS c, MATCH_NUMBER() AS n PATTERN (A*) {_DEFINE}")
    assert [f"{f.name} {f.type}" for f in empty.row_type.fields] == [
        "k INT NOT NULL",
        "a INT",
        "c STRING",
        "n BIGINT NOT NULL",
    ]


def test_explain() -> None:
    match = _bind(
        "PARTITION BY k ORDER BY ts MEASURES PREV(A.v, 3) AS p, MATCH_NUMBER() AS n ALL ROWS PER MATCH OMIT EMPTY MATCHES "
        f"AFTER MATCH SKIP TO LAST S PATTERN (A? (B | C)+?) WITHIN INTERVAL '1' HOUR SUBSET S = (C, B) {_DEFINE}"
    )
    assert title(match) == (
        "Match(partitionBy=[k], orderBy=[ts ASC], measures=[k, ts, p, n, v, pt], "
        "rowsPerMatch=[ALL ROWS PER MATCH OMIT EMPTY MATCHES], after=[SKIP TO LAST S], pattern=[A? (B | C)+?], "
        "within=[3600000 ms], subsets=[S = (B, C)], define=[A], semantics=[SQL standard])"
    )
    assert "the last rows of each partition, a number for each partition" in state_growth(match, [traits.APPEND], 0)


def test_plans_are_stored() -> None:
    match = _bind(
        "PARTITION BY k ORDER BY ts MEASURES PREV(A.v, 3) AS p ALL ROWS PER MATCH WITH UNMATCHED ROWS "
        f"PATTERN (A? PERMUTE(A, B) | C+?) SUBSET S = (A, B) {_DEFINE}"
    )
    stored = json.loads(json.dumps(PlanEncoder(match).encode(match)))
    assert PlanDecoder().decode(stored) == match


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("A.v AS x PATTERN (^ A B)", "anchors ^ and $"),
        ("A.v AS x PATTERN (A (B | C $))", "does not say where a partition ends"),
        ("NEXT(A.v) AS x PATTERN (A B)", "NEXT reads rows that arrive later"),
        ("A.v AS x PATTERN (A (())?)\nDEFINE A AS NEXT(A.v) > 1", "NEXT reads rows that arrive later"),
        ("k AS x PATTERN ((()))", "no variables"),
        ("A.v AS x PATTERN (A{3,2} B)", "3 to 2 times A"),
        ("A.v AS x PATTERN ((A B){0} C)", "takes no row"),
        ("A.v AS x PATTERN (A | B)\nDEFINE B AS TRUE, A AS A.v", "must be a boolean"),
        ("A.v AS x PATTERN (A B+)\nDEFINE B AS 1 > 2", "can never match: each match needs a row of 'B'"),
        ("A.v AS x PATTERN (A{20000} | B)", "more than 10000 rows"),
        ("A.v AS x PATTERN (PERMUTE(A, B, C, D, E, F, G))", "PERMUTE of 7 parts"),
        ("A.v AS x AFTER MATCH SKIP TO LAST A PATTERN (A B+)", "'A' can only be the first row"),
        ("A.v AS x AFTER MATCH SKIP TO FIRST S PATTERN (A | B A) SUBSET S = (A, B)", "cannot skip"),
        ("A.v AS x AFTER MATCH SKIP TO Z PATTERN (A B+)", "Unknown pattern variable 'Z' in AFTER MATCH SKIP"),
        ("A.v AS x PATTERN (A B+) SUBSET A = (A, B)", "'A' has already been defined"),
        ("A.v AS x PATTERN (A B+) SUBSET S = (A, Z)", "Unknown pattern variable 'Z' in SUBSET"),
        ("A.v AS x ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {- B -})", "WITH UNMATCHED ROWS"),
        ("A.v AS v ALL ROWS PER MATCH PATTERN (A B)", "ambiguously defined: 'v'"),
        ("A.v AS x PATTERN (A B)\nDEFINE B AS FINAL LAST(A.v) > 1", "FINAL is allowed in MEASURES only"),
        ("FINAL UPPER('a') AS x PATTERN (A B)", "FINAL takes FIRST, LAST, CLASSIFIER or an aggregate"),
        ("A.v AS x PATTERN (A B)\nDEFINE B AS MATCH_NUMBER() > 1", "MEASURES only"),
        ("PREV(A.v, -1) AS x PATTERN (A B)", "must be a constant"),
        ("PREV(CLASSIFIER()) AS x PATTERN (A B)", "PREV(CLASSIFIER()) is not supported"),
        ("FIRST(CLASSIFIER()) AS x PATTERN (A B)", "FIRST(CLASSIFIER()) is not supported"),
        ("CLASSIFIER(Z) AS x PATTERN (A B)", "one variable or subset"),
        ("SUM(PREV(A.v)) AS x PATTERN (A B)", "cannot be nested"),
        ("COUNT(MATCH_NUMBER()) AS x PATTERN (A B)", "cannot be an argument"),
    ],
)
def test_errors_have_a_place(inside: str, message: str) -> None:
    with pytest.raises(SqlValidationError) as raised:
        _bind(f"{_BEGIN} {inside} {'' if 'DEFINE' in inside else _DEFINE}")
    assert message in str(raised.value)
    assert f"line {1 + inside.count(chr(10))}, column" in str(raised.value)
    assert "^" in str(raised.value)


def test_warnings() -> None:
    with pytest.warns(UserWarning, match="no effect with ONE ROW PER MATCH"):
        _bind(f"{_BEGIN} A.v AS x PATTERN (A {{- B -}}) {_DEFINE}")
    with pytest.warns(UserWarning, match="can never match"):  # Flink runs it
        _bind(f"{_BEGIN} A.v AS x PATTERN (A B) DEFINE B AS FALSE")


# -- times. The rows of the operator are in the order in which the query reads the columns.

_TIMED = "MEASURES MATCH_ROWTIME() AS rt PATTERN (A+ | B) DEFINE A AS A.v > 0"
_SECOND = 10**9


def test_a_match_is_certain_at_the_row_that_cannot_continue_it() -> None:
    slot = RelationalSlot(_spec(f"PARTITION BY k ORDER BY ts {_TIMED}"))
    slot.run([(1, 1 * _SECOND, 5), (1, 2 * _SECOND, 5), (1, 7 * _SECOND, 0)], watermark=6_999)
    assert slot.run_marked([], watermark=7_000) == [
        (("+I", (1, 7 * _SECOND)), 6_999), (("+I", (1, 7 * _SECOND)), 6_999)
    ]  # fmt: skip
    assert slot.count_entries() == 0


def test_the_end_of_the_input_decides_and_its_matches_are_not_late() -> None:
    slot = RelationalSlot(_spec(f"PARTITION BY k ORDER BY ts {_TIMED}"))
    assert slot.run([(1, 1 * _SECOND, 5), (2, 9 * _SECOND, 0)], watermark=9_000) == [("+I", (2, 9 * _SECOND))]
    assert slot.operator.next_event_time(9_000) is None
    slot.restart()
    assert slot.run([], watermark=MAX_WATERMARK) == [("+I", (1, 9_001 * 10**6))]
    assert slot.count_entries() == 0


def test_within_decides_when_the_time_is_over() -> None:
    within = _TIMED.replace("DEFINE", "WITHIN INTERVAL '3' SECOND DEFINE")
    slot = RelationalSlot(_spec(f"PARTITION BY k ORDER BY ts {within}"))
    slot.run([(1, 1 * _SECOND, 5), (1, 2 * _SECOND, 5)], watermark=3_999)
    assert slot.operator.next_event_time(3_999) == 4_000
    assert slot.run([], watermark=4_000) == [("+I", (1, 4 * _SECOND))]


_RISE_AND_FALL = (
    "PARTITION BY k ORDER BY pt MEASURES CLASSIFIER() AS c, MATCH_NUMBER() AS n, PREV(v) AS p PATTERN ((A B)+) "
    "WITHIN INTERVAL '3' SECOND DEFINE A AS A.v > COALESCE(PREV(A.v), 0), B AS B.v < PREV(B.v)"
)


def test_processing_time() -> None:
    slot, found = RelationalSlot(_spec(_RISE_AND_FALL)), []
    for second, v in enumerate([5, 3, 7, 2, 2, 9, 1]):
        slot.restart()
        found += [(second, row) for _, row in slot.run([(1, 0, v)], now=1000 * second)]
    assert found == [(3, (1, "B", 1, 5)), (4, (1, "B", 2, 7))]
    assert slot.operator.wake() == 8_000
    slot.restart()
    assert slot.run([], now=8_000) == [("+I", (1, "B", 3, 9))]
    assert slot.operator.wake() is None


def test_the_end_of_the_input_decides_by_processing_time() -> None:
    slot = RelationalSlot(_spec(_RISE_AND_FALL))
    assert slot.run([(1, 0, 5), (2, 0, 3), (1, 0, 4)], now=1000) == []
    assert slot.run([], watermark=MAX_WATERMARK, now=1000) == [("+I", (1, "B", 1, 5))]


def test_little_is_kept_of_a_partition() -> None:
    """Without PREV and MATCH_NUMBER nothing is kept of a partition whose rows are decided."""
    for inside, entries in (("A.v AS x PATTERN (A | B)", 0), ("PREV(A.v, 2) AS x PATTERN (A B)", 1)):
        slot = RelationalSlot(_spec(f"{_BEGIN} {inside} {_DEFINE}"))
        slot.run([(1, i * _SECOND, 5) for i in range(20)], watermark=20_000)
        assert slot.count_entries() == entries


def test_partial_matches_of_another_kind_are_refused() -> None:
    pattern = f"{_BEGIN} A.v AS x PATTERN (A %s) {_DEFINE}"
    for old, new in (("B", "B+"), ("B+", "B"), ("B+", "(B | C)")):
        slot = RelationalSlot(_spec(pattern % old))
        slot.run([(1, _SECOND, 5)], watermark=1_000)
        slot.spec = _spec(pattern % new)
        slot.restart()
        with pytest.raises(StateError, match="differs from the one of this query"):
            slot.run([(1, 2 * _SECOND, 5)], watermark=2_000)


def test_running_aggregates_of_long_matches_take_little_time() -> None:
    slot = RelationalSlot(
        _spec(
            "PARTITION BY k ORDER BY ts MEASURES SUM(A.v) AS s, COUNT(B.v) AS b, FINAL COUNT(*) AS n, MAX(S.v) AS m "
            "ALL ROWS PER MATCH OMIT EMPTY MATCHES PATTERN ((A | B)*) SUBSET S = (A, B) DEFINE A AS MOD(A.v, 2) = 0"
        )
    )
    length = 1000
    found = slot.run([*((1, i * _SECOND, i, 0) for i in range(length)), (2, _SECOND, 4, 0)], watermark=MAX_WATERMARK)
    wanted = [(1, i * _SECOND, sum(range(0, i + 1, 2)), (i + 1) // 2, length, i, i) for i in range(length)]
    shown = sorted(tuple(row[:7]) for _, row in found)
    assert shown == sorted([*wanted, (2, _SECOND, 4, 0, 1, 4, 4)])


def test_too_many_ways_are_an_error() -> None:
    """Each row doubles the ways, because both variables take it and the condition reads the match."""
    slot = RelationalSlot(_spec(f"{_BEGIN} C.v AS c PATTERN ((A | B)+ C) DEFINE A AS COUNT(A.v) >= 0, C AS C.v < 0"))
    with pytest.raises(UserFunctionError, match=r"PATTERN_TOO_MANY_WAYS.*WITHIN"):
        slot.run([(1, i * _SECOND, i) for i in range(30)], watermark=30_000)
