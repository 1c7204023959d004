from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.runtime.relational.specs.operators import RankSpec
from penstock.types.logical.kinds import BIGINT, INT, STRING
from tests.unit.runtime.relational.driver import Change, RelationalSlot, Row, final_table
from tests.unit.runtime.relational.operators.rank_answers import ANSWERS

_ROW = (STRING, INT, INT)
_COUNTS = (STRING, BIGINT, INT)
_RANGES = {"rn<=2": (1, 2), "rn<=3": (1, 3), "rn=1": (1, 1), "rn=2": (2, 2), "rn BETWEEN 2 AND 3": (2, 3)}

# The inputs of the recorded answers of Flink 2.3.
_INSERTS = [("x", 1, 5), ("x", 2, 3), ("x", 3, 5), ("x", 4, 4), ("x", 5, 3), ("y", 6, 1), ("x", 7, 9), ("x", 2, 3),
            ("x", 8, None), ("y", 9, 0), ("x", 10, 1), ("x", 11, 3)]  # fmt: skip
_CHANGES = [
    ("+I", ("x", 1, 5)), ("+I", ("x", 2, 3)), ("+I", ("x", 3, 4)), ("+I", ("x", 4, 4)), ("-U", ("x", 1, 5)), ("+U", ("x", 1, 2)),
    ("-D", ("x", 2, 3)), ("+I", ("x", 5, 4)), ("-U", ("x", 3, 4)), ("+U", ("x", 3, 4)), ("-D", ("x", 4, 4)), ("-U", ("x", 1, 2)),
    ("+U", ("x", 1, 9)), ("+I", ("y", 6, 1)), ("-D", ("x", 99, 1)), ("-D", ("y", 6, 1)), ("+I", ("x", 3, 4)), ("-D", ("x", 3, 4)),
]  # fmt: skip
_WORDS = "abcbdccadeddceaa"


def _counts() -> list[Change]:
    seen: dict[str, int] = {}
    rows: list[Change] = []
    for i, word in enumerate(_WORDS):
        seen[word] = seen.get(word, 0) + 1
        rows.append(("+I" if seen[word] == 1 else "+U", (word, seen[word], i)))
    return rows


def _text(changes: list[Change]) -> str:
    return " ".join(f"{kind}({','.join(map(str, row))})" for kind, row in changes)


def _spec(types: tuple[Any, ...], outputs_rank: bool, **more: Any) -> RankSpec:
    output = (*types, BIGINT) if outputs_rank else types
    return RankSpec(input_types=types, outputs_rank=outputs_rank, output_types=output, **more)


def _recorded(name: str) -> tuple[RankSpec, list[Any]]:
    """Returns the specification and the input of a recorded answer, such as "app-rank-p DESC-rn<=3"."""
    source, rank, *order, condition = name.split("-")
    facts: dict[str, Any] = {"outputs_rank": rank == "rank"}
    facts["start"], facts["end"] = _RANGES.get(condition, (1, 2**62))
    if source == "upd":
        order_ = (SortKey(1, ascending=False, nulls_first=False),)
        return _spec(_COUNTS, insert_only=False, upsert_key=(0,), monotone=True, order=order_, **facts), _counts()
    if source == "ret":
        return _spec(_ROW, keys=(0,), insert_only=False, order=(SortKey(2),), **facts), _CHANGES
    ascending = order[0] == "p"
    key = (SortKey(2, ascending, nulls_first=ascending),)
    if condition == "rn<=n":
        return _spec((*_ROW, INT), keys=(0,), order=key, end_column=3, **facts), [(*row, 2) for row in _INSERTS]
    return _spec(_ROW, keys=(0,), order=key, **facts), list(_INSERTS)


@pytest.mark.parametrize("name", ANSWERS)
def test_changelog_is_that_of_flink(name: str) -> None:
    spec, rows = _recorded(name)
    slot, out = RelationalSlot(spec), []
    for row in rows:
        out += slot.run([row])
        slot.restart()
    if spec.end_column >= 0:
        out = [(kind, row[:3] + row[4:]) for kind, row in out]
    assert _text(out).split() == ANSWERS[name].split()


def test_without_update_before() -> None:
    slot = RelationalSlot(_spec(_ROW, True, keys=(0,), order=(SortKey(2),), end=2, update_before=False))
    assert _text(slot.run([("x", 1, 5)]) + slot.run([("x", 2, 3)])) == "+I(x,1,5,1) +U(x,2,3,1) +I(x,1,5,2)"


def test_insert_only_input_keeps_n_rows() -> None:
    slot = RelationalSlot(_spec(_ROW, True, keys=(0,), order=(SortKey(2, False, False),), end=3))
    for i in range(20):
        slot.run([("x", i, i % 7), ("y", i, i)])
    assert slot.count_entries() == 2 * (3 + 1)  # the rows, and an entry for the key


def test_fast_top_1_updates_the_row_of_the_same_key() -> None:
    """Flink drops such an update and keeps a row that no longer exists."""
    spec = _spec(
        _COUNTS, False, insert_only=False, upsert_key=(0,), monotone=True, order=(SortKey(1, False, False),), end=1
    )
    slot = RelationalSlot(spec)
    assert _text(slot.run([("a", 1, 0)]) + slot.run([("+U", ("a", 1, 9))])) == "+I(a,1,0) -U(a,1,0) +U(a,1,9)"


@pytest.mark.parametrize(("function", "ranks"), [("RANK", [1, 1, 3, 4]), ("DENSE_RANK", [1, 1, 2, 3])])
def test_rank_and_dense_rank(function: str, ranks: list[int]) -> None:
    slot = RelationalSlot(_spec(_ROW, True, keys=(0,), order=(SortKey(2),), end=4, function=function))
    out = slot.run([("x", 1, 5), ("x", 2, 5)]) + slot.run([("x", 3, 6), ("x", 4, 7)])
    assert [row[3] for _, row in out] == ranks
    assert "+I(x,5,1,1) -U(x,1,5,1) +U(x,1,5,2)" in _text(slot.run([("x", 5, 1)]))


def test_time_to_live() -> None:
    slot = RelationalSlot(_spec(_ROW, True, keys=(0,), order=(SortKey(2),), end=2, ttl=100))
    slot.run([("x", 1, 5)], now=0)
    assert _text(slot.run([("x", 2, 6)], now=99)) == "+I(x,2,6,2)"
    assert _text(slot.run([("x", 3, 7)], now=150)) == "+I(x,3,7,2)"  # the first row has expired
    slot.run(now=400)
    assert slot.count_entries() == 0


def test_watermarks_of_the_output_ascend() -> None:
    slot = RelationalSlot(_spec(_ROW, False, keys=(0,), order=(SortKey(2),), end=1))
    rows = [("x", 1, 5), ("y", 2, 5), ("x", 3, 4)]
    assert [m for _, m in slot.run_marked(rows, watermarks=[1, 2, 3], watermark=4)] == [2, 3]


# -- the table does not depend on batches

_EVENTS = st.lists(
    st.tuples(st.sampled_from("xy"), st.integers(0, 3), st.none() | st.integers(0, 3), st.booleans()), max_size=14
)
_SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def _expected(rows: list[Row], spec: RankSpec) -> dict[Row, int]:
    """The Top-N of the rows that are left, in their order of arrival."""
    table: dict[Row, int] = {}
    for key in "xy":
        mine = sorted((r for r in rows if r[0] == key), key=lambda r: (r[2] is not None, r[2] or 0))
        numbers = range(1, len(mine) + 1)
        if spec.function != "ROW_NUMBER":
            values = [r[2] for r in mine]
            distinct = list(dict.fromkeys(values))
            numbers = [values.index(v) + 1 if spec.function == "RANK" else distinct.index(v) + 1 for v in values]  # type: ignore[assignment]
        for number, row in zip(numbers, mine, strict=True):
            if spec.start <= number <= spec.end:
                shown = (*row, number) if spec.outputs_rank else row
                table[shown] = table.get(shown, 0) + 1
    return table


def _run(spec: RankSpec, changes: list[Change], sizes: list[int]) -> list[Change]:
    slot, at = RelationalSlot(spec), 0
    out: list[Change] = []
    for size in itertools.cycle(sizes):
        if at >= len(changes):
            break
        out += slot.run(changes[at : at + size])
        at += size
        slot.restart()
    return out


_LIMITS = st.tuples(
    st.integers(1, 2), st.integers(1, 3), st.booleans(), st.sampled_from(["ROW_NUMBER", "RANK", "DENSE_RANK"])
)


@settings(deadline=None)
@given(_EVENTS, _SIZES, _LIMITS)
def test_insertions_in_any_batches(events: list[Any], sizes: list[int], limits: tuple[int, int, bool, str]) -> None:
    start, end, rank, function = limits
    spec = _spec(_ROW, rank, keys=(0,), order=(SortKey(2),), start=start, end=end, function=function)
    rows = [event[:3] for event in events]
    assert final_table(_run(spec, [("+I", r) for r in rows], sizes)) == _expected(rows, spec)


@settings(deadline=None)
@given(_EVENTS, _SIZES, _LIMITS)
def test_changes_in_any_batches(events: list[Any], sizes: list[int], limits: tuple[int, int, bool, str]) -> None:
    start, end, rank, function = limits
    spec = _spec(_ROW, rank, keys=(0,), order=(SortKey(2),), start=start, end=end, function=function, insert_only=False)
    live: list[Row] = []
    changes: list[Change] = []
    for *row, removes in events:
        if removes and live:
            changes.append(("-D", live.pop(row[1] % len(live))))
        else:
            live.append(tuple(row))
            changes.append(("+I", tuple(row)))
    removed = _expected_after(changes)
    assert final_table(_run(spec, changes, sizes)) == _expected(removed, spec)


def _expected_after(changes: list[Change]) -> list[Row]:
    """The rows that are left. A removal takes the first of equal rows."""
    rows: list[Row] = []
    for kind, row in changes:
        if kind == "-D":
            rows.remove(row)
        else:
            rows.append(row)
    return rows


@settings(deadline=None)
@given(_EVENTS, _SIZES, _LIMITS)
def test_upserts_in_any_batches(events: list[Any], sizes: list[int], limits: tuple[int, int, bool, str]) -> None:
    """The second column is the upsert key within a key. A row keeps its place while its sort key stays."""
    start, end, rank, function = limits
    spec = _spec(
        _ROW,
        rank,
        keys=(0,),
        order=(SortKey(2),),
        start=start,
        end=end,
        function=function,
        insert_only=False,
        upsert_key=(0, 1),
    )
    rows: list[Row] = []
    changes: list[Change] = []
    for *values, removes in events:
        row = tuple(values)
        old = next((r for r in rows if r[:2] == row[:2]), None)
        changes.append(("-D" if removes else "+I" if old is None else "+U", row))
        if old is not None and not removes and old[2] == row[2]:
            continue
        if old is not None:
            rows.remove(old)
        if not removes:
            rows.append(row)
    assert final_table(_run(spec, changes, sizes)) == _expected(rows, spec)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 4)), max_size=16), _SIZES, st.booleans(), st.integers(1, 3)
)
def test_monotone_upserts_in_any_batches(events: list[tuple[str, int]], sizes: list[int], rank: bool, end: int) -> None:
    """Counts per word and their order, with the word as the second order so that there are no ties."""
    order = (SortKey(2, False, False), SortKey(1))
    spec = _spec(_ROW, rank, keys=(0,), order=order, end=end, insert_only=False, upsert_key=(0, 1), monotone=True)
    counts: dict[tuple[str, int], int] = {}
    changes: list[Change] = []
    for word in events:
        counts[word] = counts.get(word, 0) + 1
        changes.append(("+U" if counts[word] > 1 else "+I", (*word, counts[word])))
    expected: dict[Row, int] = {}
    for key in "xy":
        mine = sorted(((*w, n) for w, n in counts.items() if w[0] == key), key=lambda r: (-r[2], r[1]))
        expected.update({(*row, i) if rank else row: 1 for i, row in enumerate(mine[:end], 1)})
    assert final_table(_run(spec, changes, sizes)) == expected
