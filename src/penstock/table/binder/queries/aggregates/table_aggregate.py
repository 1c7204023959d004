"""Calls of table aggregate functions, which only the Table API has."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import SqlValidationError
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.table.binder.queries import building
from penstock.table.relations import Relation, TableAggregate
from penstock.table.user_functions.table_aggregate_function import UserDefinedTableAggregateFunctionWrapper
from penstock.types.logical.kinds import ArrayType


def table_aggregate(
    relation: Relation,
    keys: int,
    function: UserDefinedTableAggregateFunctionWrapper,
    names: Sequence[str] = (),
    zone: str = "UTC",
) -> TableAggregate:
    """Returns the keys of groups and the rows that a function emits for each.

    relation: its first columns, as many as `keys`, are the keys; the others are the arguments. names: of the columns that the
    function emits, if they are not those of its result type.
    """
    fields = relation.row_type.fields
    emitted = function.row_type()
    own = [field.name for field in emitted.fields]
    if names and len(names) != len(own):
        raise SqlValidationError(
            "SQL_COLUMN",
            f"The function '{function.name}' emits {len(own)} columns: {', '.join(own)}. alias() has {len(names)} names: "
            f"{', '.join(names)}.",
        )
    arguments = fields[keys:]
    row_names = tuple(field.name for field in arguments) if function.takes_row_as_input else None
    call = AggregateCall(
        "PYTHON",
        tuple(range(keys, len(fields))),
        tuple(field.type for field in arguments),
        ArrayType(emitted),
        name=f"{function.name}({', '.join(field.name for field in arguments)})",
        python=function.call(zone, row_names),
    )
    return TableAggregate(
        input=relation,
        keys=tuple(range(keys)),
        call=call,
        row_type=building.row_type(
            [*(field.name for field in fields[:keys]), *(names or own)],
            [*(field.type for field in fields[:keys]), *(field.type for field in emitted.fields)],
        ),
    )
