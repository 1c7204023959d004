"""The types of aggregate calls are those that Flink reports."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.runtime.relational.aggregates.registry import AGGREGATE_FUNCTIONS, aggregate_type
from penstock.runtime.relational.functions.definition import MISSING, TypeMismatch
from penstock.table.functions.catalogue import AGGREGATES
from penstock.types.logical.kinds import DOUBLE, TimestampType
from penstock.types.logical.text import parse_type


def typed(name: str, *types: str, literals: dict[int, Any] | None = None, **facts: bool) -> str:
    given = [parse_type(t) for t in types]
    values = [(literals or {}).get(i, MISSING) for i in range(len(given))]
    return str(aggregate_type(name, given, values, **facts).type)


@pytest.mark.parametrize(
    ("name", "argument", "result"),
    [
        ("COUNT", "INT", "BIGINT NOT NULL"),
        ("SUM", "TINYINT", "TINYINT"),
        ("SUM", "FLOAT", "FLOAT"),
        ("SUM", "DECIMAL(30, 10)", "DECIMAL(38, 10)"),
        ("AVG", "SMALLINT", "SMALLINT"),
        ("AVG", "DECIMAL(8, 2)", "DECIMAL(38, 6)"),
        ("AVG", "DECIMAL(30, 10)", "DECIMAL(38, 10)"),
        ("STDDEV_POP", "INT", "INT"),
        ("VAR_SAMP", "DECIMAL(8, 2)", "DECIMAL(38, 6)"),
        ("MIN", "CHAR(3)", "CHAR(3)"),
        ("MAX", "TIMESTAMP_LTZ(6)", "TIMESTAMP_LTZ(6)"),
        ("FIRST_VALUE", "ARRAY<INT>", "ARRAY<INT>"),
        ("LISTAGG", "VARCHAR(5)", "VARCHAR(5)"),
        ("LISTAGG", "STRING NOT NULL", "STRING NOT NULL"),
        ("ARRAY_AGG", "INT", "ARRAY<INT>"),
        ("ARRAY_AGG", "INT NOT NULL", "ARRAY<INT NOT NULL> NOT NULL"),
        ("COLLECT", "INT", "MULTISET<INT> NOT NULL"),
        ("JSON_ARRAYAGG", "INT", "VARCHAR(2000) NOT NULL"),
        ("APPROX_COUNT_DISTINCT", "BYTES", "BIGINT NOT NULL"),
        ("BITMAP_BUILD_AGG", "INT NOT NULL", "BITMAP"),
        ("BITMAP_OR_CARDINALITY_AGG", "BITMAP", "BIGINT"),
    ],
)
def test_types_without_group_by(name: str, argument: str, result: str) -> None:
    assert typed(name, argument) == result


@pytest.mark.parametrize("name", ["SUM", "AVG", "MIN", "MAX", "VAR_POP", "FIRST_VALUE", "SINGLE_VALUE"])
def test_results_are_not_null_if_each_group_has_a_row(name: str) -> None:
    assert typed(name, "INT NOT NULL", grouped=True) == "INT NOT NULL"
    assert typed(name, "INT NOT NULL") == "INT"
    assert typed(name, "INT NOT NULL", grouped=True, filtered=True) == "INT"
    assert typed(name, "INT", grouped=True) == "INT"


def test_shares_of_percentile_become_doubles() -> None:
    given = [parse_type("INT"), parse_type("DECIMAL(2, 1) NOT NULL")]
    typing = aggregate_type("PERCENTILE", given, [MISSING, 0.5])
    assert typing.type == DOUBLE
    assert {i: str(t) for i, t in typing.casts.items()} == {1: "DOUBLE NOT NULL"}
    assert typed("PERCENTILE", "INT", "ARRAY<DECIMAL(2, 1) NOT NULL> NOT NULL", "BIGINT") == "ARRAY<DOUBLE>"


def test_the_result_is_no_time_attribute() -> None:
    time = TimestampType(3, attribute="ROWTIME")
    assert aggregate_type("MAX", [time], [MISSING]).type == TimestampType(3)


@pytest.mark.parametrize(
    ("name", "types", "argument"),
    [
        ("SUM", ["STRING"], 0),
        ("SUM", ["INTERVAL DAY TO SECOND(3)"], 0),
        ("SUM", [], None),
        ("MIN", ["ARRAY<INT>"], 0),
        ("MAX", ["BYTES"], 0),
        ("MIN", ["INT", "STRING"], None),
        ("COUNT", ["NULL"], 0),
        ("LISTAGG", ["INT"], 0),
        ("LISTAGG", ["STRING", "STRING"], 1),
        ("JSON_OBJECTAGG", ["INT", "STRING"], 0),
        ("JSON_ARRAYAGG", ["DATE"], 0),
        ("JSON_ARRAYAGG", ["MAP<INT, STRING>"], 0),
        ("PERCENTILE", ["STRING", "DOUBLE NOT NULL"], 0),
        ("PERCENTILE", ["INT", "DOUBLE"], 1),
        ("BITMAP_BUILD_AGG", ["BIGINT"], 0),
        ("ROW_NUMBER", ["INT"], None),
        ("NTILE", ["INT"], 0),
        ("LAG", [], None),
        ("LAG", ["INT", "INT", "STRING"], 2),
    ],
)
def test_wrong_arguments_are_refused(name: str, types: list[str], argument: int | None) -> None:
    with pytest.raises(TypeMismatch) as caught:
        typed(name, *types)
    assert caught.value.argument == argument


def test_a_literal_share_above_one_is_refused() -> None:
    with pytest.raises(TypeMismatch):
        typed("PERCENTILE", "INT", "DECIMAL(2, 1) NOT NULL", literals={1: 1.5})


@pytest.mark.parametrize(
    ("name", "types", "result"),
    [
        ("ROW_NUMBER", [], "BIGINT NOT NULL"),
        ("CUME_DIST", [], "DOUBLE NOT NULL"),
        ("LAG", ["INT NOT NULL"], "INT"),
        ("LAG", ["INT", "INT NOT NULL", "INT NOT NULL"], "INT NOT NULL"),
        ("LEAD", ["STRING", "INT NOT NULL", "CHAR(1) NOT NULL"], "STRING NOT NULL"),
    ],
)
def test_functions_of_over(name: str, types: list[str], result: str) -> None:
    assert AGGREGATE_FUNCTIONS[name].over_only
    assert typed(name, *types) == result


def test_all_names_of_the_catalogue_are_defined() -> None:
    assert set(AGGREGATES) - AGGREGATE_FUNCTIONS.keys() == {"GROUPING", "GROUPING_ID", "GROUP_ID"}  # of grouping sets
