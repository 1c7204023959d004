"""What an operator of a query means: its inputs down to tables and columns, so that another query finds its state."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.types.logical.kinds import LogicalType

WATERMARKS = "-watermarks"  # follows the uid of a source in the uid of its watermarks


class FilterMeaning(msgspec.Struct, frozen=True):
    """A condition on the rows of an input, and the columns that it reads."""

    text: str
    reads: tuple[str, ...] = ()


class InputMeaning(msgspec.Struct, frozen=True):
    """An input of an operator.

    base: the table or the operator that the rows come from. filters: the conditions that they passed. columns: what each column
    means, in terms of columns of tables and results of operators. keys: positions of the key columns.
    """

    base: str
    columns: tuple[str, ...]
    types: tuple[LogicalType, ...]
    keys: tuple[int, ...] = ()
    filters: tuple[FilterMeaning, ...] = ()
    insert_only: bool = True

    @property
    def key_texts(self) -> tuple[str, ...]:
        """What the key columns mean."""
        return tuple(self.columns[k] for k in self.keys)


class OperatorMeaning(msgspec.Struct, frozen=True):
    """An operator of a query.

    id: its uid without the number that operators with equal meanings get. facts: what must be equal so that the state has the same
    meaning, such as the window. calls: the aggregates, with their texts in terms of columns of tables. layout: what must be equal
    because the state is not rewritten. sources: the uids of the sources that the operator reads. given: the query names the id.
    """

    id: str
    kind: str
    inputs: tuple[InputMeaning, ...]
    facts: dict[str, str] = {}
    calls: tuple[AggregateCall, ...] = ()
    call_texts: tuple[str, ...] = ()
    layout: dict[str, str] = {}
    ttl: int = 0
    sources: tuple[str, ...] = ()
    given: bool = False

    def to_builtins(self) -> Any:
        """Returns plain data for JSON."""
        return msgspec.json.decode(msgspec.json.encode(self))


def read_meaning(data: Any) -> OperatorMeaning | None:
    """Returns a meaning from plain data. None for data of a version that this one does not read: then the state is unknown.

    >>> one = OperatorMeaning("sql-1", "normalize", (InputMeaning("t", ("t.a",), ()),))
    >>> read_meaning(one.to_builtins()) == one
    True
    """
    try:
        return None if data is None else msgspec.convert(data, OperatorMeaning)
    except msgspec.ValidationError:
        return None
