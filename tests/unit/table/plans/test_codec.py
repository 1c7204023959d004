"""Relations become plain data and come back as they were."""

from __future__ import annotations

import decimal
from typing import Any

import pytest

from penstock.errors import PlanError
from penstock.runtime.relational.expressions.tree import Column, Literal
from penstock.table.plans.codec import PlanDecoder, PlanEncoder
from penstock.table.plans.kinds import KINDS
from penstock.table.relations import Calc, Union, Values
from penstock.types.logical.kinds import INT, STRING, ArrayType, DecimalType, Field, RowType

ROW = RowType((Field("a", INT), Field("b", STRING)))
VALUES = Values(rows=((Literal(1, INT), Literal("x", STRING)),), row_type=ROW)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**70,
        1.5,
        float("inf"),
        "text",
        b"\x00\xff",
        decimal.Decimal("1.50"),
        (1, ("a",)),
        [1, [2]],
        {"t": "1 d"},
        Literal(decimal.Decimal("2.5"), DecimalType(3, 1)),
        ArrayType(STRING, nullable=False),
        Calc(input=VALUES, projections=(Column(0, INT, "a"),), row_type=RowType((Field("a", INT),))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_comes_back(value: Any) -> None:
    assert PlanDecoder().decode(PlanEncoder().encode(value)) == value


def test_a_relation_with_two_readers_is_stored_once() -> None:
    union = Union(relations=(VALUES, VALUES), row_type=ROW)
    stored = PlanEncoder(union).encode(union)
    assert stored["relations"][1] == {"is": "same", "as": 1}
    first, second = PlanDecoder().decode(stored).inputs()
    assert first is second


def test_objects_of_the_program_are_refused() -> None:
    with pytest.raises(PlanError) as refused:
        PlanEncoder().encode(object())
    assert refused.value.code == "SQL_PLAN_OBJECT"


@pytest.mark.parametrize("data", [{"is": "Unheard"}, {"is": "IntegerType", "bits": 32, "unheard": 1}])
def test_what_a_newer_version_wrote_is_refused(data: Any) -> None:
    with pytest.raises(PlanError) as refused:
        PlanDecoder().decode(data)
    assert refused.value.code == "SQL_PLAN_KIND"
    assert "newer" in refused.value.text


def test_kinds_that_stored_plans_contain_are_never_removed() -> None:
    released = """Scan Values Calc WindowAssign Aggregate Expand Unnest Over Rank Deduplicate WindowAggregate WindowRank Join
        TemporalJoin Union SetOperation Match Sort Normalize Sink Column Literal Call AggregateCall SortKey OverCall Window
        PatternStep MatchSkip Navigation Definition CatalogTable TableColumn WatermarkDefinition BooleanType IntegerType FloatType
        DecimalType CharType BinaryType DateType TimeType TimestampType ArrayType MultisetType MapType Field RowType"""
    assert set(released.split()) <= set(KINDS)
