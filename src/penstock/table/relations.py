"""Relations: the tree of a query between the binder and the plan.

The binder builds Scan, Values, Calc, WindowAssign, Aggregate, Expand, Over, Join, Union, SetOperation, Sort, Sink. Passes replace
some of them: Aggregate over WindowAssign becomes WindowAggregate, a filtered ROW_NUMBER becomes Rank or Deduplicate, and so on.
All columns are given by position in the input; expressions are those of runtime/relational/expressions/tree.py. `row_type` is the
type of the output, with time attributes (TimestampType.attribute).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from penstock.runtime.relational.expressions.tree import Expression
from penstock.runtime.relational.expressions.tree import Literal as LiteralExpression
from penstock.runtime.relational.python_functions.function import PythonFunction
from penstock.runtime.relational.specs.aggregate_call import AggregateCall, SortKey
from penstock.runtime.relational.specs.match import (
    AllRows,
    Definition,
    MatchSkip,
    Navigation,
    PatternStep,
    Previous,
    Subset,
)
from penstock.runtime.relational.specs.operators import OverCall
from penstock.runtime.relational.specs.pattern_tree import PatternTree
from penstock.runtime.relational.specs.window import Window
from penstock.types.logical.kinds import RowType


class Relation(msgspec.Struct, frozen=True, kw_only=True):
    """What all relations have."""

    row_type: RowType
    hints: tuple[tuple[str, Any], ...] = ()  # of the query: ("STATE_TTL", {"t": "1 d"})

    def inputs(self) -> tuple[Relation, ...]:
        """Returns the relations that this one reads."""
        one = getattr(self, "input", None)
        return (one,) if one is not None else ()

    def with_inputs(self, *inputs: Relation) -> Relation:
        """Returns the same relation with other inputs."""
        return self if not inputs else msgspec.structs.replace(self, input=inputs[0])


class Scan(Relation, frozen=True, kw_only=True):
    """Reads a table of the catalog. `row_type` has all columns of its schema, computed and metadata columns included.

    table: a `table/catalog/table.py:CatalogTable`; options: those of the table with the OPTIONS hint applied.
    """

    table: Any
    path: tuple[str, ...]  # catalog, database, table
    options: tuple[tuple[str, str], ...] = ()
    stream: StreamInput | None = None  # set for a stream of the program instead of a connector
    dead_letters: DeadLetterTable | None = None  # that of the option 'dead-letter.table'
    partitions: tuple[Expression, ...] = ()  # conditions on partition columns: other partitions need not be read


class DeadLetterTable(msgspec.Struct, frozen=True):
    """A table that takes the records that do not match another table."""

    table: Any  # a CatalogTable
    path: tuple[str, ...]


class StreamInput(msgspec.Struct, frozen=True):
    """A DataStream that is read as a table. whole: an element is one column, else its fields are the columns."""

    stream: Any
    whole: bool = False
    mode: Literal["append", "upsert", "retract"] = "append"


class Values(Relation, frozen=True, kw_only=True):
    """Rows of constants: expressions without columns."""

    rows: tuple[tuple[Expression, ...], ...]


class FrameRows:
    """The rows of a frame: a `Changes`, and a digest of it. Two of them are equal if they are the same object."""

    def __init__(self, changes: Any, digest: str) -> None:
        self.changes = changes
        self.digest = digest


class Frame(Values, frozen=True, kw_only=True):
    """Rows of constants that are columns already, such as those of a pandas frame. `rows` is empty."""

    data: FrameRows


class Calc(Relation, frozen=True, kw_only=True):
    """Filters rows by a condition, then computes the output columns."""

    input: Relation
    projections: tuple[Expression, ...]
    condition: Expression | None = None


class WindowAssign(Relation, frozen=True, kw_only=True):
    """A window table function. Output: the input, window_start, window_end, window_time."""

    input: Relation
    window: Window


class Aggregate(Relation, frozen=True, kw_only=True):
    """GROUP BY. Output: the keys, then the results. DISTINCT is an Aggregate without calls.

    group_window: the legacy group window TUMBLE(ts, ...) among the grouping expressions, if any; then `properties` (start, end,
    time, proctime: those that the query uses) follow the results in the output.
    """

    input: Relation
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    group_window: Window | None = None
    properties: tuple[Literal["start", "end", "time", "proctime"], ...] = ()


class TableAggregate(Relation, frozen=True, kw_only=True):
    """A table aggregate function of the user. Output: the keys, then the columns of the rows that it emits.

    call: a call of "PYTHON" whose type is an array of these rows.
    """

    input: Relation
    keys: tuple[int, ...]
    call: AggregateCall


class ProcessTable(Relation, frozen=True, kw_only=True):
    """A process table function of the user. Output: the keys, the columns that it emits, and the time if there is one.

    arguments: constants by the names of parameters. time_column: the column of `on_time`, or -1.
    """

    input: Relation
    keys: tuple[int, ...]
    function: PythonFunction
    emitted: RowType
    arguments: tuple[tuple[str, LiteralExpression], ...] = ()
    time_column: int = -1


class Expand(Relation, frozen=True, kw_only=True):
    """Grouping sets: each row once per set. Output: the input with the columns that are not in the set as NULL, then expand_id.

    sets: for each set the columns that keep their values. ids: the value of GROUPING_ID over all grouped columns of each set.
    grouped: all columns that occur in a set.
    """

    input: Relation
    grouped: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    ids: tuple[int, ...]


class Unnest(Relation, frozen=True, kw_only=True):
    """Each row once per element of a collection. Output: the input, the columns of the elements, and the position if `ordinality`.

    outer: a row without elements is there once, with NULL.
    """

    input: Relation
    column: int
    outer: bool = False
    ordinality: bool = False


class TableFunctionCall(Relation, frozen=True, kw_only=True):
    """Each row once per row that a Python function returns for it. Output: the input, then the columns of the function.

    arguments: columns of the input. outer: a row without results is there once, with NULL.
    """

    input: Relation
    function: PythonFunction
    arguments: tuple[int, ...]
    outer: bool = False


class Over(Relation, frozen=True, kw_only=True):
    """OVER with one partition and order. Output: the input, then the results.

    ROW_NUMBER, RANK and DENSE_RANK are calls, too; a pass turns them into Rank if a filter bounds them.
    """

    input: Relation
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    calls: tuple[OverCall, ...]


class Rank(Relation, frozen=True, kw_only=True):
    """Top-N. Output: the input, and the rank if `outputs_rank`."""

    input: Relation
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    function: Literal["ROW_NUMBER", "RANK", "DENSE_RANK"] = "ROW_NUMBER"
    start: int = 1
    end: int = 2**62
    outputs_rank: bool = True


class Deduplicate(Relation, frozen=True, kw_only=True):
    """The first or last row of a key by a time attribute. Output: the input, and the number 1 if `outputs_rank`."""

    input: Relation
    partition: tuple[int, ...]
    time_column: int
    keep_last: bool
    outputs_rank: bool = False


class WindowAggregate(Relation, frozen=True, kw_only=True):
    """An Aggregate per window. Output: the keys, the results, then the properties.

    start_column, end_column: window_start and window_end of an input that has windows; else -1, and `window` assigns them.
    """

    input: Relation
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    window: Window
    properties: tuple[Literal["start", "end", "time", "proctime"], ...]
    legacy: bool = False
    start_column: int = -1
    end_column: int = -1


class WindowRank(Relation, frozen=True, kw_only=True):
    """Top-N per window. Output: the input, and the rank if `outputs_rank`. `partition` does not contain the window columns."""

    input: Relation
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    start_column: int
    end_column: int
    start: int = 1
    end: int = 2**62
    outputs_rank: bool = True
    event_time: bool = True
    zone: str = ""


class Join(Relation, frozen=True, kw_only=True):
    """A join. Output: the columns of the left input, then those of the right one (only the left ones for SEMI and ANTI).

    condition: over the concatenated columns; None is always true. null_aware: NOT IN, whose NULLs make the result unknown.
    """

    left: Relation
    right: Relation
    kind: Literal["INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"] = "INNER"
    condition: Expression | None = None
    null_aware: bool = False
    single: bool = False  # the right input is a scalar subquery: more than one row is an error
    times: Literal["", "window", "interval"] = ""  # what in the condition bounds how long rows can match; set by a pass

    def inputs(self) -> tuple[Relation, ...]:
        return self.left, self.right

    def with_inputs(self, *inputs: Relation) -> Relation:
        return msgspec.structs.replace(self, left=inputs[0], right=inputs[1]) if inputs else self


class TemporalJoin(Relation, frozen=True, kw_only=True):
    """FOR SYSTEM_TIME AS OF: each row of the left input with the version of the right one at its time. Output: as for Join.

    left_time, right_time: the event times of both inputs, by position in each. right_time is -1 if the left time is a processing
    time: then the latest version is joined.
    """

    left: Relation
    right: Relation
    kind: Literal["INNER", "LEFT"]
    condition: Expression | None
    left_time: int
    right_time: int

    def inputs(self) -> tuple[Relation, ...]:
        return self.left, self.right

    def with_inputs(self, *inputs: Relation) -> Relation:
        return msgspec.structs.replace(self, left=inputs[0], right=inputs[1]) if inputs else self


class LookupJoin(Relation, frozen=True, kw_only=True):
    """FOR SYSTEM_TIME AS OF a processing time, of a table that is asked for the rows of a key. Output: as for Join.

    right: the table, a Scan or a Calc over one. It is no input, because the table is not read as a whole.
    """

    left: Relation
    right: Relation
    kind: Literal["INNER", "LEFT"]
    condition: Expression | None

    def inputs(self) -> tuple[Relation, ...]:
        return (self.left,)

    def with_inputs(self, *inputs: Relation) -> Relation:
        return msgspec.structs.replace(self, left=inputs[0]) if inputs else self


class ToChangelog(Relation, frozen=True, kw_only=True):
    """TO_CHANGELOG: insertions with the code of each change in the first column. Output: the code, then the input.

    codes: those of INSERT, UPDATE_BEFORE, UPDATE_AFTER and DELETE; None drops such changes.
    """

    input: Relation
    codes: tuple[str | None, ...]


class FromChangelog(Relation, frozen=True, kw_only=True):
    """FROM_CHANGELOG: the kind of each change is the value of a column. Output: the other columns. codes: value and RowKind."""

    input: Relation
    column: int
    codes: tuple[tuple[str, int], ...]


class Union(Relation, frozen=True, kw_only=True):
    """UNION ALL. The inputs have the types of the output."""

    relations: tuple[Relation, ...]

    def inputs(self) -> tuple[Relation, ...]:
        return self.relations

    def with_inputs(self, *inputs: Relation) -> Relation:
        return msgspec.structs.replace(self, relations=inputs) if inputs else self


class SetOperation(Relation, frozen=True, kw_only=True):
    """INTERSECT or EXCEPT, with `all` counting duplicates."""

    left: Relation
    right: Relation
    kind: Literal["INTERSECT", "EXCEPT"]
    all: bool = False

    def inputs(self) -> tuple[Relation, ...]:
        return self.left, self.right

    def with_inputs(self, *inputs: Relation) -> Relation:
        return msgspec.structs.replace(self, left=inputs[0], right=inputs[1]) if inputs else self


class Match(Relation, frozen=True, kw_only=True):
    """MATCH_RECOGNIZE. Output: the measures, of which the columns of the partition are the first. See `MatchSpec`."""

    input: Relation
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    pattern: tuple[PatternStep, ...]
    definitions: tuple[Definition, ...]
    measures: tuple[Expression, ...]
    navigations: tuple[Navigation, ...]
    skip: MatchSkip = MatchSkip()
    within: int | None = None
    tree: PatternTree | None = None
    previous: tuple[Previous, ...] | None = None
    subsets: tuple[Subset, ...] | None = None
    all_rows: AllRows | None = None


class Sort(Relation, frozen=True, kw_only=True):
    """ORDER BY, OFFSET and LIMIT. Without order keys only the last two."""

    input: Relation
    order: tuple[SortKey, ...] = ()
    offset: int = 0
    limit: int | None = None


class Normalize(Relation, frozen=True, kw_only=True):
    """Turns an upsert stream into a complete changelog, by the key columns."""

    input: Relation
    keys: tuple[int, ...]


class Sink(Relation, frozen=True, kw_only=True):
    """Writes to a table. `target` is the table, or None for the result that the program collects.

    overwrite and partition are those of INSERT OVERWRITE and PARTITION (...). upsert_materialize: columns of the primary key, if
    the changes must be ordered by them.
    """

    input: Relation
    target: Any = None
    path: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    overwrite: bool = False
    partition: tuple[tuple[str, Any], ...] = ()
    conflict: str = ""
