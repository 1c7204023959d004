"""Numbers of the tables of a slot."""

from __future__ import annotations

from penstock.runtime.state.tables import StateTable, StateTables


def test_a_new_table_never_gets_the_number_of_another_one() -> None:
    # A savepoint whose tables were not all loaded leaves gaps.
    tables = StateTables([StateTable(3, "op", "groups", "rows", "")])
    tables.of("op", "first", "rows", "")
    tables.of("op", "second", "rows", "")
    assert len({table.number for table in tables.all()}) == 3
