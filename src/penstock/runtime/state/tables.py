"""The tables of a slot store: one per state of an operator, with a number that starts the keys of its entries."""

from __future__ import annotations

import msgspec

from penstock.errors import StateError
from penstock.runtime.state.evolution.describe import describe_state
from penstock.runtime.state.evolution.shape import StateShape, read_state_shape
from penstock.runtime.state.evolution.values import differences_in_place
from penstock.state import StateDescriptor

MEASURES = "measures"  # the schema of tables by time
KEY_TABLE = "__keys__"  # the table of keys that cannot be decoded from their encoding


class StateTable(msgspec.Struct, array_like=True):
    """One state of one operator in the store of a slot."""

    number: int
    operator: str
    name: str
    kind: str
    schema: str
    cursor: bytes = b""  # where the next search for expired entries starts
    type: str = ""  # the complete types (`evolution/shape.py`) as JSON; "" if written by a version without types
    ttl: int = 0  # milliseconds; 0: entries do not expire
    drops_expired: bool = False  # savepoints do not contain expired entries

    @property
    def prefix(self) -> bytes:
        """The first bytes of the keys of all entries."""
        return self.number.to_bytes(2, "big")


class StateTables:
    """The tables of a slot. They are stored with its state, so that their numbers are the same in every run."""

    def __init__(self, tables: list[StateTable] | None = None) -> None:
        self._by_name = {(t.operator, t.name): t for t in tables or ()}

    def of(
        self, operator: str, name: str, kind: str, schema: str, descriptor: StateDescriptor | None = None
    ) -> StateTable:
        """Returns the table of a state, and creates it if needed.

        The types of the descriptor are compared with the stored ones. Raises STATE_CHANGED if the program cannot read the
        stored values.
        """
        table = self._by_name.get((operator, name))
        if table is None:
            # Not the number of tables: there are gaps after a restore that did not load all tables of a savepoint.
            number = max((t.number for t in self._by_name.values()), default=0) + 1
            table = self._by_name[(operator, name)] = StateTable(number, operator, name, kind, schema)
        elif table.kind != kind:
            raise _changed(table, f"is {kind} state", f"{table.kind} state")
        elif not (descriptor is not None and table.type):
            if table.schema != schema and not _is_readable(table.schema, schema):
                raise _changed(table, f"has type {schema}", table.schema)
            table.schema = schema
        if descriptor is not None:
            shape = describe_state(descriptor)
            type_json = shape.to_json()
            if table.type and (table.type != type_json or table.schema != schema):
                _compare_types(table, schema, shape, descriptor)
            table.schema, table.type = schema, type_json
            table.ttl = 0 if descriptor.ttl is None else descriptor.ttl.ttl
            table.drops_expired = descriptor.ttl is not None and descriptor.ttl.cleanup.in_full_snapshot()
        return table

    def refresh(self, tables: list[StateTable]) -> None:
        """Takes over the cursors of a later version of the same tables."""
        for table in tables:
            self._by_name[(table.operator, table.name)].cursor = table.cursor

    def all(self) -> list[StateTable]:
        return list(self._by_name.values())


def _is_readable(written: str, read: str) -> bool:
    """Returns whether stored values can be read with another schema.

    A typed state can read pickled values, since each value starts with its format. Earlier versions stored only the first
    word of a type such as list[int].
    """
    return read.startswith("msgspec:") and (written == "pickle" or read.startswith(f"{written}["))


def _compare_types(table: StateTable, schema: str, shape: StateShape, descriptor: StateDescriptor) -> None:
    """Raises STATE_CHANGED unless the decoder of the new type can read the stored values."""
    differences = differences_in_place(read_state_shape(table.type), shape, descriptor.value_type)
    if table.schema.startswith("ttl:") != schema.startswith("ttl:"):
        differences = ["entries expire now" if schema.startswith("ttl:") else "entries no longer expire"]
    if differences:
        raise _changed(table, f"has type {schema}", table.schema, f" ({'; '.join(differences)})")


def _changed(table: StateTable, now: str, before: str, differences: str = "") -> StateError:
    return StateError(
        "STATE_CHANGED",
        f"State '{table.name}' of operator '{table.operator}' {now} in this program, but the checkpoint contains {before}"
        f"{differences}. Change the program back or give the state a new name. To convert the stored values, start with "
        "--from-savepoint and the path of the checkpoint; 'penstock savepoints check' reports whether they can be converted.",
    )


def table_name(name: str, scope: str) -> str:
    """Returns the table name of a state of an operator.

    >>> table_name("rules", "slot"), table_name("count", "key")
    ('slot:rules', 'count')
    """
    return name if scope == "key" else f"{scope}:{name}"
