"""One specification per stateful operator. Columns are given by their position in the input.

input_types: the types of the columns of the input. keys: the columns by which the input is partitioned (the exchange before the
operator). insert_only: whether the input has only insertions. update_before: whether the reader of the output needs -U rows; if
not, +U is emitted alone. ttl: state of a key that was not changed for so many milliseconds is removed; 0 keeps it forever.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from penstock.runtime.relational.expressions.tree import Expression
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
from penstock.runtime.relational.specs.pattern_tree import PatternTree, variables
from penstock.runtime.relational.specs.window import Window
from penstock.types.logical.kinds import LogicalType

Conflict = Literal["deduplicate", "error", "nothing"]  # ON CONFLICT DO ...


class OperatorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What all operators have."""

    input_types: tuple[LogicalType, ...]
    keys: tuple[int, ...] = ()
    insert_only: bool = True
    update_before: bool = True
    ttl: int = 0
    output_types: tuple[LogicalType, ...] = ()


class GroupAggregateSpec(OperatorSpec, frozen=True, kw_only=True, tag="group_aggregate"):
    """GROUP BY without a window. Output: the keys, then the results of the calls.

    Without keys there is one group, which has a result also if it is empty (after all its rows were deleted; Flink emits nothing
    before the first row in streaming mode, and one row in batch mode).
    """

    calls: tuple[AggregateCall, ...]


class TableAggregateSpec(GroupAggregateSpec, frozen=True, kw_only=True, tag="table_aggregate"):
    """A table aggregate function per key. Output: the keys, then the columns of the rows that the function emits.

    There is one call. Its type is an array of these rows.
    """


class WindowAggregateSpec(OperatorSpec, frozen=True, kw_only=True, tag="window_aggregate"):
    """Aggregates per window and key. Output: the keys, the results of the calls, then the window properties.

    properties: any of "start", "end", "time" (end - 1 ms; a rowtime), "proctime", in this order of output.
    legacy: a legacy group window (allowed lateness and early firing may apply, late rows are dropped against the window's end),
        else a window table function.
    start_column, end_column: positions of window_start and window_end in an input that already has windows (an aggregate over
        the output of another window operator); -1 if the operator assigns the windows.
    early, late: intervals in milliseconds of table.exec.emit.early-fire.delay and late-fire.delay; None if they are off, 0 for
        each row. allow_lateness in milliseconds.
    partials: whether the input has partial accumulators of slices (runtime/relational/windows/partials.py) instead of rows.
        input_types and the positions of columns are those of the rows.
    """

    calls: tuple[AggregateCall, ...]
    window: Window
    properties: tuple[Literal["start", "end", "time", "proctime"], ...] = ()
    legacy: bool = False
    start_column: int = -1
    end_column: int = -1
    early: int | None = None
    late: int | None = None
    allow_lateness: int = 0
    partials: bool = False


class SessionAssignSpec(OperatorSpec, frozen=True, kw_only=True, tag="session_assign"):
    """The SESSION window table function without an aggregate. Output: the input, window_start, window_end, window_time.

    Rows are emitted when the session that they belong to has ended. (Windows on a grid are assigned in a stateless step.)
    """

    window: Window


class WindowRankSpec(OperatorSpec, frozen=True, kw_only=True, tag="window_rank"):
    """Top-N per window and key: rows from `start` to `end` of their rank, emitted when the window ends.

    Output: the input, and the rank if `outputs_rank`. Window deduplication is this with end = 1 and the time attribute as order.
    end_column: position of window_end in the input.
    """

    order: tuple[SortKey, ...]
    start: int
    end: int
    outputs_rank: bool
    end_column: int
    event_time: bool = True
    zone: str = ""


class OverCall(msgspec.Struct, frozen=True):
    """An aggregate with its frame. Bounds are numbers of rows, or of milliseconds for RANGE; None is unbounded.

    lower is how far the frame starts before the current row (PRECEDING); upper how far it ends after it (0: CURRENT ROW).
    """

    call: AggregateCall
    mode: Literal["ROWS", "RANGE"] = "RANGE"
    lower: int | None = None
    upper: int | None = 0


class OverSpec(OperatorSpec, frozen=True, kw_only=True, tag="over"):
    """OVER aggregates of one partition and order. Output: the input, then the results.

    order: sort keys; a time attribute alone is emitted as time passes, anything else is a maintained result that retracts.
    time: whether the first order key is a "rowtime" or "proctime", or "" for other columns.
    """

    calls: tuple[OverCall, ...]
    order: tuple[SortKey, ...]
    time: Literal["rowtime", "proctime", ""] = "rowtime"


class RankSpec(OperatorSpec, frozen=True, kw_only=True, tag="rank"):
    """Top-N: the rows from `start` to `end` of their rank among the rows of their key. Output: the input, and the rank if asked.

    function: ROW_NUMBER, RANK or DENSE_RANK. upsert_key: columns that identify a row of the input, if it is not insert-only.
    end_column: the column that contains the N, if it is not a constant, else -1.
    monotone: whether an update never moves a row away from the top (Flink's update-fast strategy), so that only N rows are kept.
    """

    order: tuple[SortKey, ...]
    start: int = 1
    end: int = 2**62
    outputs_rank: bool = True
    function: Literal["ROW_NUMBER", "RANK", "DENSE_RANK"] = "ROW_NUMBER"
    upsert_key: tuple[int, ...] = ()
    end_column: int = -1
    monotone: bool = False


class DeduplicateSpec(OperatorSpec, frozen=True, kw_only=True, tag="deduplicate"):
    """The first or the last row of each key by a time attribute. Output: the input, and a rank column of 1 if `outputs_rank`."""

    keep_last: bool
    time_column: int
    event_time: bool
    outputs_rank: bool = False


class TemporalSortSpec(OperatorSpec, frozen=True, kw_only=True, tag="temporal_sort"):
    """ORDER BY a time attribute, then other columns: rows are emitted in order when the watermark has passed them."""

    order: tuple[SortKey, ...]
    event_time: bool = True


class SortLimitSpec(OperatorSpec, frozen=True, kw_only=True, tag="sort_limit"):
    """ORDER BY ... OFFSET ... LIMIT as a maintained result. Without order keys, the first rows that arrived.

    end is 2**62 without LIMIT.
    """

    order: tuple[SortKey, ...]
    start: int = 0  # rows to skip
    end: int = 2**62  # rows to skip plus rows to emit


class NormalizeSpec(OperatorSpec, frozen=True, kw_only=True, tag="normalize"):
    """Turns an upsert stream, or one with duplicates, into a complete changelog. `keys` is the primary key."""


class EachChangeSpec(OperatorSpec, frozen=True, kw_only=True, tag="each_change"):
    """An operator that must emit every change of a key also if a batch has several: its reader needs all versions."""

    operator: DeduplicateSpec | NormalizeSpec | RankSpec | GroupAggregateSpec


class UpsertMaterializeSpec(OperatorSpec, frozen=True, kw_only=True, tag="upsert_materialize"):
    """One row per primary key of a sink (`keys`), if the query's changes may arrive by another key.

    Of several live rows with the same primary key, the newest is visible.
    """

    upsert_key: tuple[int, ...] = ()
    conflict: Conflict = "deduplicate"


class JoinSpec(OperatorSpec, frozen=True, kw_only=True, tag="join"):
    """A join of two inputs by equal keys. Output: the columns of both inputs; only those of the left one for SEMI and ANTI.

    keys and right_keys: the key columns of the left and the right input. null_safe: for each key whether NULL equals NULL.
    condition: over the columns of both inputs, besides the keys. unknown_matches: a condition that is NULL counts as true (NOT IN).
    single: a row of the left input that matches several rows of the right one is an error (scalar subqueries).
    right_insert_only: whether the right input has only insertions. right_ttl: that of the right input, if it is not `ttl`.
    expiry, right_expiry: a column of the input, and how many milliseconds after its time a row cannot match any more (None: never).
    """

    right_types: tuple[LogicalType, ...]
    right_keys: tuple[int, ...] = ()
    kind: Literal["INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"] = "INNER"
    condition: Expression | None = None
    null_safe: tuple[bool, ...] = ()
    unknown_matches: bool = False
    single: bool = False
    right_insert_only: bool = True
    right_ttl: int | None = None
    expiry: tuple[int, int] | None = None
    right_expiry: tuple[int, int] | None = None
    zone: str = "UTC"


class WindowJoinSpec(JoinSpec, frozen=True, kw_only=True, tag="window_join"):
    """A join of rows of the same window, emitted when the window ends. The window columns are among the keys.

    end_column, right_end_column: positions of window_end in the inputs. event_time and window_zone: those of the windows.
    """

    end_column: int
    right_end_column: int
    event_time: bool = True
    window_zone: str = ""


class IntervalJoinSpec(JoinSpec, frozen=True, kw_only=True, tag="interval_join"):
    """A join of rows whose times are near: lower <= left time - right time <= upper, in milliseconds. Inputs are insert-only.

    watermark_delay: how far the watermark of the output stays behind, because rows are emitted so long after their times.
    """

    left_time: int
    right_time: int
    lower: int
    upper: int
    event_time: bool = True
    watermark_delay: int = 0


class TemporalJoinSpec(JoinSpec, frozen=True, kw_only=True, tag="temporal_join"):
    """A join with the version of the right input that was valid at the time of each row of the left input: INNER or LEFT.

    left_time, right_time: the columns of the event times. A row of the right input is valid from its time on.
    """

    left_time: int
    right_time: int


class ProcessingTimeJoinSpec(JoinSpec, frozen=True, kw_only=True, tag="processing_time_join"):
    """A join with the version of the right input that is the latest one when a row of the left input arrives: INNER or LEFT."""


class SetOperationSpec(OperatorSpec, frozen=True, kw_only=True, tag="set_operation"):
    """INTERSECT or EXCEPT of two inputs with the same types. The key is the whole row."""

    right_types: tuple[LogicalType, ...]
    kind: Literal["INTERSECT", "EXCEPT"]
    all: bool = False


class MatchSpec(OperatorSpec, frozen=True, kw_only=True, tag="match"):
    """MATCH_RECOGNIZE. Output: the measures, of which the columns of the partition are the first.

    order: a time attribute, then other columns. within: the longest time of a match in milliseconds, or None.
    measures: expressions over the navigations. tree: a pattern that Flink does not have, instead of `pattern`; its matches are
    those of the SQL standard. previous: values of earlier rows, behind the columns of a row. all_rows: None for one row per match.
    """

    order: tuple[SortKey, ...]
    pattern: tuple[PatternStep, ...]
    definitions: tuple[Definition, ...]
    measures: tuple[Expression, ...]
    navigations: tuple[Navigation, ...]
    skip: MatchSkip = MatchSkip()
    within: int | None = None
    event_time: bool = True
    zone: str = "UTC"
    # None, if they are not used: what is not None is a part of the identity of the state.
    tree: PatternTree | None = None
    previous: tuple[Previous, ...] | None = None
    subsets: tuple[Subset, ...] | None = None
    all_rows: AllRows | None = None

    def row_types(self) -> tuple[LogicalType, ...]:
        """Returns the types of the columns of a row and of the values of earlier rows behind them."""
        earlier = (self.input_types[p.column].with_nullable(True) for p in self.previous or ())
        return (*self.input_types, *earlier)

    def variables(self) -> list[str]:
        """Returns the variables of the pattern in their order."""
        return [step.variable for step in self.pattern] if self.tree is None else variables(self.tree)


AnyOperatorSpec = (
    JoinSpec
    | WindowJoinSpec
    | IntervalJoinSpec
    | TemporalJoinSpec
    | ProcessingTimeJoinSpec
    | SetOperationSpec
    | MatchSpec
    | GroupAggregateSpec
    | TableAggregateSpec
    | WindowAggregateSpec
    | SessionAssignSpec
    | WindowRankSpec
    | OverSpec
    | RankSpec
    | DeduplicateSpec
    | TemporalSortSpec
    | SortLimitSpec
    | NormalizeSpec
    | EachChangeSpec
    | UpsertMaterializeSpec
)
