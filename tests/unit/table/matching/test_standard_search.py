"""Random patterns of the SQL standard, conditions, rows, batches and restores, compared with a plain search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SqlValidationError, UserFunctionError
from penstock.runtime.relational.specs.operators import MatchSpec
from penstock.table import traits
from penstock.table.lower.match import match_spec
from penstock.table.relations import Match as MatchRelation
from penstock.table.relations import Relation
from penstock.time import MAX_WATERMARK
from tests.unit.runtime.relational.driver import RelationalSlot
from tests.unit.table.binder.memory import MemoryCatalog
from tests.unit.table.matching.backtracking import Holds, Match, Part, Search

_CATALOG = MemoryCatalog(
    "CREATE TABLE t (k INT NOT NULL, ts TIMESTAMP(3), id INT, v INT, WATERMARK FOR ts AS ts)",
    "CREATE TABLE p (k INT NOT NULL, id INT, v INT, pt AS PROCTIME())",
)


@dataclass(frozen=True)
class _Row:
    key: int
    time: int
    id: int
    v: int


# -- conditions: the text, and the same in Python. A row is `rows[m.start + len(m.path) - 1]`.


def _here(m: Match) -> int:
    return m.start + len(m.path) - 1


def _less(a: int | None, b: int | None) -> bool | None:
    return None if a is None or b is None else a < b


def _last(rows: Sequence[_Row], m: Match, names: str, offset: int = 0) -> int | None:
    places = m.positions(names)
    return rows[places[-1 - offset]].v if len(places) > offset else None


def _before(rows: Sequence[_Row], place: int | None, offset: int) -> int | None:
    return None if place is None or place < offset else rows[place - offset].v


_CONDITIONS: list[tuple[str, Holds]] = [
    ("{x}.v > 0", lambda rows, m: rows[_here(m)].v > 0),
    ("{x}.v <= 1", lambda rows, m: rows[_here(m)].v <= 1),
    ("v <> 1", lambda rows, m: rows[_here(m)].v != 1),
    ("{x}.v > PREV({x}.v)", lambda rows, m: _less(_before(rows, _here(m), 1), rows[_here(m)].v)),
    ("PREV(v, 2) IS NULL OR v < 2", lambda rows, m: _here(m) < 2 or rows[_here(m)].v < 2),
    ("{x}.v > FIRST(v) OR COUNT(*) = 1", lambda rows, m: len(m.path) == 1 or rows[m.start].v < rows[_here(m)].v),
    ("A.v IS NULL OR LAST(A.v) <= {x}.v", lambda rows, m: (a := _last(rows, m, "A")) is None or a <= rows[_here(m)].v),
    ("SUM(S.v) < 4", lambda rows, m: _less(sum(rows[i].v for i in p), 4) if (p := m.positions("AB")) else None),
    ("COUNT({x}.id) < 3 AND v < 3", lambda rows, m: len(m.positions(m.path[-1][0])) < 3 and rows[_here(m)].v < 3),
    (
        "LAST(CLASSIFIER(), 1) IS NULL OR LAST(CLASSIFIER(), 1) <> 'C'",
        lambda rows, m: len(m.path) < 2 or m.path[-2][0] != "C",
    ),
]

# -- patterns

_BOUNDS = [(0, 1), (0, None), (1, None), (1, None), (2, 2), (1, 3), (0, 2), (2, None)]
_MODES = [
    "",
    "ONE ROW PER MATCH",
    "ALL ROWS PER MATCH",
    "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
]
_SKIPS = [("PAST", ""), ("PAST", ""), ("NEXT", ""), ("FIRST", "B"), ("LAST", "B"), ("LAST", "AB")]


def _repeated(part: Part, bounds: tuple[int, int | None], reluctant: bool) -> Part:
    return Part("repeat", "", (part,), *bounds, reluctant)


def _pattern(random: Random, depth: int, excluded: bool) -> Part:
    kinds = (
        ["variable"] if depth == 0 else ["variable", "sequence", "sequence", "choice", "repeat", "repeat", "permute"]
    )
    kind = random.choice([*kinds, "exclude"] if depth and excluded else kinds)
    if kind == "variable":
        return Part("variable", random.choice("ABC"))
    if kind == "repeat":
        return _repeated(_pattern(random, depth - 1, excluded), random.choice(_BOUNDS), random.random() < 0.4)
    length = 1 if kind == "exclude" else 2 if kind == "permute" else random.choice([2, 2, 3])
    return Part(kind, "", tuple(_pattern(random, depth - 1, excluded) for _ in range(length)))


_MEASURES = """MATCH_NUMBER() AS n, CLASSIFIER() AS c, CLASSIFIER(S) AS cs, FIRST(id) AS f, A.id AS a, FINAL LAST(A.id) AS fa,
    COUNT(B.id) AS nb, FINAL COUNT(*) AS m, LAST(S.id, 1) AS s, FIRST(A.id, 1) AS a1, PREV(id) AS p,
    PREV(LAST(B.id), 2) AS pb, SUM(S.v) AS sv"""


def _row_of_match(rows: Sequence[_Row], m: Match, last: int) -> tuple[Any, ...]:
    if m.number is None:
        return (None,) * 13

    def pick(places: list[int], at: int, before: int = 0) -> int | None:
        if not -len(places) <= at < len(places):
            return None
        return rows[places[at] - before].id if places[at] >= before else None

    a, b, s = (m.positions(names, last) for names in ("A", "B", "AB"))
    every = m.positions("", last)
    return (
        m.number,
        m.path[last][0] if m.path else None,
        m.path[s[-1] - m.start][0] if s else None,
        pick(every, 0),
        pick(a, -1),
        pick(m.positions("A"), -1),
        len(b),
        len(m.path),
        pick(s, -2),
        pick(a, 1),
        pick(every, -1, 1),
        pick(b, -1, 2),
        sum(rows[i].v for i in s) if s else None,
    )


def _wanted(rows: Sequence[_Row], matches: list[Match], mode: str) -> list[tuple[Any, ...]]:
    found = []
    for m in matches:
        if not mode.startswith("ALL"):
            found.append((rows[m.start].key, *_row_of_match(rows, m, len(m.path) - 1)))
            continue
        shown = [i for i, (_, excluded) in enumerate(m.path) if not excluded]
        if not m.path and not mode.endswith("OMIT EMPTY MATCHES"):
            shown = [-1]
        for i in shown:
            row = rows[m.start + max(i, 0)]
            found.append((row.key, row.time * 10**6, *_row_of_match(rows, m, i), row.id, row.v))
    return found


def _skip_text(skip: tuple[str, str]) -> str:
    kind, names = skip
    if kind in ("FIRST", "LAST"):
        return f"AFTER MATCH SKIP TO {kind} {'S' if len(names) > 1 else names}"
    return "" if kind == "PAST" else "AFTER MATCH SKIP TO NEXT ROW"  # the default of the standard


def run_batches(
    spec: MatchSpec, names: list[str], rows: list[_Row], sizes: list[int], restores: bool
) -> list[tuple[Any, ...]]:
    """Returns the output. The watermark after a batch is before all rows of later ones."""
    slot, found, position, turn = RelationalSlot(spec), [], 0, 0
    while position < len(rows):
        size = sizes[turn % len(sizes)]
        part, later = rows[position : position + size], rows[position + size :]
        values = [{"k": r.key, "ts": r.time * 10**6, "id": r.id, "v": r.v} for r in part]
        watermark = max(slot.watermark, min(r.time for r in later) - 1) if later else None
        if restores:
            slot.restart()
        found += slot.run([tuple(row[n] for n in names) for row in values], watermark=watermark)
        position, turn = position + size, turn + 1
    if restores:
        slot.restart()
    found += slot.run([], watermark=MAX_WATERMARK)
    assert slot.operator.late_records == 0
    assert {kind for kind, _ in found} <= {"+I"}
    return [row for _, row in found]


@pytest.mark.filterwarnings("ignore")
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**40))
def test_matches_are_those_of_a_plain_search(seed: int) -> None:
    _compare(Random(seed))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@settings(deadline=None, max_examples=1500)
@given(st.integers(0, 2**40))
def test_many_matches_are_those_of_a_plain_search(seed: int) -> None:
    _compare(Random(seed))


def _compare(random: Random) -> None:
    mode, skip, within = random.choice(_MODES), random.choice(_SKIPS), random.choice([None, None, 6])
    unmatched = mode.endswith("UNMATCHED ROWS")
    pattern = _pattern(random, 3, excluded=not unmatched)
    conditions = {name: random.choice(_CONDITIONS) for name in "ABC" if random.random() < 0.7}
    times = sorted(random.randrange(20) for _ in range(random.randrange(4, 16)))
    if random.random() < 0.5:
        random.shuffle(times)
    rows = [_Row(int(random.random() < 0.3), time, i, random.randrange(4)) for i, time in enumerate(times)]
    sizes = [random.randrange(1, 6) for _ in range(3)]
    if not {"A", "B"} <= pattern.names():  # S and the measures read them
        pattern = Part("sequence", "", (pattern, *(_repeated(Part("variable", n), (0, 1), True) for n in "AB")))
    conditions = {name: c for name, c in conditions.items() if name in pattern.names()}
    define = ", ".join(f"{name} AS {text.format(x=name)}" for name, (text, _) in conditions.items()) or "A AS TRUE"
    limit = "" if within is None else f"WITHIN INTERVAL '0.00{within}' SECOND"
    query = (
        f"PARTITION BY k ORDER BY ts MEASURES {_MEASURES} {mode} {_skip_text(skip)} PATTERN ({pattern}) "
        f"{limit} SUBSET S = (A, B) DEFINE {define}"
    )
    try:
        relation = bound(query)
    except SqlValidationError as error:
        if "cannot skip" not in str(error):
            raise
        return  # each match would fail
    spec, names = match_spec(relation, traits.APPEND, "UTC"), [f.name for f in relation.input.row_type.fields]
    wanted: dict[int, list[tuple[Any, ...]] | None] = {}
    for key in (0, 1):
        mine = sorted((row for row in rows if row.key == key), key=lambda row: (row.time, row.id))
        found = Search(pattern, {n: c for n, (_, c) in conditions.items()}, mine, skip, within, unmatched).run()
        wanted[key] = None if found is None else _wanted(mine, found, mode)
    for parts, restores in ((sizes, False), (sizes, True), ([1], True)):
        if None in wanted.values():
            with pytest.raises(UserFunctionError, match="could not skip"):
                run_batches(spec, names, rows, parts, restores)
            continue
        got = run_batches(spec, names, rows, parts, restores)
        for key in (0, 1):
            assert [row for row in got if row[0] == key] == wanted[key], query


def bound(query: str, table: str = "t") -> MatchRelation:
    relation: Relation = _CATALOG.query(f"SELECT * FROM {table} MATCH_RECOGNIZE ({query})")
    while not isinstance(relation, MatchRelation):
        [relation] = relation.inputs()
    assert relation.tree is not None
    return relation
