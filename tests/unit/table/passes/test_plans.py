"""The relations of queries after all passes equal the golden file."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from penstock.table.passes import apply_passes
from penstock.table.relations import Relation
from tests.unit.table.passes.shown import after, bound, shown

_FILE = json.loads((pathlib.Path(__file__).parent / "cases" / "plans.json").read_text())


@pytest.mark.parametrize("case", _FILE["cases"], ids=lambda c: c["query"][:60])
def test_relations(case: dict[str, Any]) -> None:
    assert after(case["query"], apply_passes) == case["relations"]


@pytest.mark.parametrize("case", _FILE["cases"], ids=lambda c: c["query"][:60])
def test_passes_change_nothing_the_second_time(case: dict[str, Any]) -> None:
    once = apply_passes(bound(case["query"]))
    assert shown(apply_passes(once)) == shown(once)


@pytest.mark.parametrize("case", _FILE["cases"], ids=lambda c: c["query"][:60])
def test_columns_fit_the_inputs(case: dict[str, Any]) -> None:
    _check(apply_passes(bound(case["query"])))


def _check(relation: Relation) -> None:
    """Columns of a Calc have the types and the positions of its input."""
    from penstock.runtime.relational.expressions.tree import Column, walk
    from penstock.table.relations import Calc, Join

    if isinstance(relation, Calc):
        expressions = [*relation.projections, *([] if relation.condition is None else [relation.condition])]
        fields = relation.input.row_type.fields
        assert [p.type for p in relation.projections] == [f.type for f in relation.row_type.fields]
        for part in (p for e in expressions for p in walk(e) if isinstance(p, Column)):
            assert part.type.with_nullable(True) == fields[part.index].type.with_nullable(True)
    if isinstance(relation, Join) and relation.condition is not None:
        both = [*relation.left.row_type.fields, *relation.right.row_type.fields]
        for part in (p for p in walk(relation.condition) if isinstance(p, Column)):
            assert str(part.type).split()[0] == str(both[part.index].type).split()[0]
    for child in relation.inputs():
        _check(child)
