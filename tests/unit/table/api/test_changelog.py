"""TO_CHANGELOG and FROM_CHANGELOG, in SQL and as methods of tables. The expected rows are those of Flink."""

from __future__ import annotations

import pytest

from penstock.errors import PenstockError
from penstock.table import EnvironmentSettings, Table, TableEnvironment
from penstock.table.expressions import col, descriptor, map_

CODED = [("a", "c", 1), ("a", "r", 1), ("b", "u0", 3), ("b", "u1", 4), ("b", "d", 4)]


@pytest.fixture
def env() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("execution.engine", "local")
    env.create_temporary_view("coded", env.from_elements(CODED, ["k", "code", "v"]))
    return env


def _changes(table: Table) -> list[tuple[str, tuple[object, ...]]]:
    with table.execute().collect() as rows:
        return [(str(r.get_row_kind()), tuple(r)) for r in rows]


CHANGES = [
    ("INSERT", "a", 1),
    ("UPDATE_BEFORE", "a", 1),
    ("UPDATE_AFTER", "a", 2),
    ("INSERT", "b", 5),
    ("DELETE", "b", 5),
]
KINDS = [("+I", ("a", 1)), ("-U", ("a", 1)), ("+U", ("a", 2)), ("+I", ("b", 5)), ("-D", ("b", 5))]


def test_kinds_are_read_from_a_column_and_written_to_one(env: TableEnvironment) -> None:
    table = env.from_elements(CHANGES, ["op", "k", "v"])
    changing = table.from_changelog()
    assert _changes(changing) == KINDS
    assert _changes(changing.to_changelog()) == [("+I", row) for row in CHANGES]
    sums = changing.group_by(col("k")).select(col("k"), col("v").sum.alias("s")).to_pandas()
    assert sums.to_dict("records") == [{"k": "a", "s": 2}]


def test_codes_and_columns_of_a_program(env: TableEnvironment) -> None:
    mapping = map_("c, r", "INSERT", "u0", "UPDATE_BEFORE", "u1", "UPDATE_AFTER", "d", "DELETE")
    table = env.from_path("coded").from_changelog(
        descriptor("code").as_argument("op"), mapping.as_argument("op_mapping")
    )
    assert [kind for kind, _ in _changes(table)] == ["+I", "+I", "-U", "+U", "-D"]
    flagged = table.to_changelog(
        descriptor("deleted").as_argument("op"),
        map_("INSERT, UPDATE_AFTER", "false", "DELETE", "true").as_argument("op_mapping"),
    )
    assert flagged.get_schema().get_field_names() == ["deleted", "k", "v"]
    assert [row[0] for _, row in _changes(flagged)] == ["false", "false", "false", "true"]


def test_sql_has_the_same_functions(env: TableEnvironment) -> None:
    query = (
        "SELECT * FROM FROM_CHANGELOG(input => TABLE coded, op => DESCRIPTOR(code), "
        "op_mapping => MAP['c, r', 'INSERT', 'u0, u1, d', 'DELETE'])"
    )
    assert [kind for kind, _ in _changes(env.sql_query(query))] == ["+I", "+I", "-D", "-D", "-D"]
    assert "ToChangelog" in env.sql_query("SELECT * FROM TO_CHANGELOG(TABLE coded)").explain()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("TO_CHANGELOG(input => TABLE coded, op => DESCRIPTOR(k))", "column 'k' already"),
        ("TO_CHANGELOG(input => TABLE coded, op_mapping => MAP['NOTHING', 'I'])", "'NOTHING' is no kind"),
        ("TO_CHANGELOG(input => TABLE coded PARTITION BY k)", "without PARTITION BY"),
        ("TO_CHANGELOG(input => TABLE coded, other => 1)", "and no other"),
        ("FROM_CHANGELOG(input => TABLE coded)", "Column 'op' not found"),
        ("FROM_CHANGELOG(input => TABLE coded, op => DESCRIPTOR(v))", "must be a STRING"),
        (
            "FROM_CHANGELOG(input => TABLE coded, op => DESCRIPTOR(code), op_mapping => MAP['c', 'UPDATE_AFTER'])",
            "one of UPDATE_BEFORE",
        ),
    ],
)
def test_wrong_arguments_are_refused(env: TableEnvironment, call: str, words: str) -> None:
    with pytest.raises(PenstockError, match=words):
        env.sql_query(f"SELECT * FROM {call}")


def test_an_unknown_code_fails_the_job(env: TableEnvironment) -> None:
    table = env.from_path("coded").from_changelog(descriptor("code").as_argument("op"))
    with pytest.raises(PenstockError, match="'c', which is no kind of change"):
        _changes(table)


def test_changes_are_no_rows_with_codes(env: TableEnvironment) -> None:
    counts = env.from_path("coded").group_by(col("k")).select(col("k"), col("v").count.alias("n"))
    with pytest.raises(PenstockError, match="without updates"):
        _changes(counts.from_changelog(descriptor("k").as_argument("op")))
