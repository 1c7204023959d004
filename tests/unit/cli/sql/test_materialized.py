"""Rows after changes equal a multiset that is changed one by one."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.sql.results.materialized import MaterializedRows


@given(st.lists(st.tuples(st.sampled_from(["+I", "-U", "-D", "+U"]), st.sampled_from("abc"))))
def test_equal_to_a_multiset(changes: list[tuple[str, str]]) -> None:
    rows, model = MaterializedRows(1_000), Counter[tuple[str, ...]]()
    for kind, value in changes:
        rows.apply(kind, [value])
        if kind in ("+I", "+U"):
            model[(value,)] += 1
        elif model[(value,)]:
            model[(value,)] -= 1
        assert Counter(rows.rows()) == +model
        assert len(rows) == model.total()


def test_an_update_keeps_its_place_and_the_oldest_rows_are_dropped() -> None:
    rows = MaterializedRows(2)
    for kind, value in [("+I", "a"), ("+I", "b"), ("-U", "a"), ("+U", "A")]:
        rows.apply(kind, [value])
    assert rows.rows() == [("A",), ("b",)]
    rows.apply("+I", ["c"])
    rows.apply("-D", ["A"])  # is gone already
    assert (rows.rows(), rows.dropped) == ([("b",), ("c",)], 1)
