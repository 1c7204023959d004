"""The accumulators of the aggregate calls of an operator, for many groups at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.relational.aggregates.accumulator_factory import make_accumulator
from penstock.runtime.relational.aggregates.column_accumulator import Codes, ColumnAccumulator, Field, Signs
from penstock.runtime.relational.aggregates.distinct import DistinctValues
from penstock.runtime.relational.aggregates.extremes import ChangelogExtreme
from penstock.runtime.relational.aggregates.multisets import MemoryMultisets, Multisets
from penstock.runtime.relational.aggregates.plain_values import packer
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.types.logical.kinds import FloatType, LogicalType

_KEEP_NUMBERS = ("COUNT", "SUM", "SUM0", "AVG")  # their fields are integers and floats, whatever the argument is
_ANY_ORDER = (
    *_KEEP_NUMBERS,
    "APPROX_COUNT_DISTINCT",
)  # functions whose result does not depend on the order of exact numbers
_NO_EFFECT = ("MIN", "MAX", "SINGLE_VALUE")  # functions for which DISTINCT changes nothing


@dataclass(slots=True)
class Accumulators:
    """The accumulators of some groups: the fields of each call, and the multisets of calls. Only AggregateSet looks inside."""

    length: int
    fields: list[list[Field]]
    multisets: list[Multisets]

    def __len__(self) -> int:
        return self.length


@dataclass(slots=True)
class _Call:
    accumulator: ColumnAccumulator
    arguments: tuple[int, ...]
    filter: int | None
    ignores_removals: bool
    distinct: tuple[int, int] | None = None  # number of the set of different values, and of the filter in it
    multiset: int | None = None


class AggregateSet:
    """Computes aggregate calls of groups on columns: adds and removes rows, merges accumulators, and returns results.

    insert_only: rows are only added. Then MIN, MAX, LISTAGG and others keep less.

    Accumulators of groups are created empty (`create`) or from state (`load`), changed in place, and stored as plain lists that
    `state/row_codec.py` packs (`dump`). Rows are given with the number of the group of each row. They are added in their order,
    so floating-point sums do not depend on how rows are cut into batches, if rows are added to the accumulators from state
    instead of merged into them.

    >>> from penstock.types.logical.kinds import BIGINT, INT, STRING
    >>> calls = [AggregateCall("COUNT", (), (), BIGINT), AggregateCall("SUM", (1,), (INT,), INT)]
    >>> aggregates = AggregateSet(calls, [STRING, INT])
    >>> groups = aggregates.create(2)
    >>> rows = Changes([pa.array(["a", "b", "a"]), pa.array([1, 2, 3], pa.int32())], 3)
    >>> aggregates.accumulate(groups, np.array([0, 1, 0]), rows)
    >>> [column.to_pylist() for column in aggregates.results(groups)]
    [[2, 1], [4, 2]]
    >>> stored = aggregates.dump(groups)
    >>> stored
    [[2, 4, 2], [1, 2, 1]]

    Accumulators are merged by the number of the group that each belongs to, for example of slices into windows:

    >>> window = aggregates.create(1)
    >>> aggregates.merge(window, np.array([0, 0]), aggregates.load(stored))
    >>> [column.to_pylist() for column in aggregates.results(window)]
    [[3], [6]]
    """

    def __init__(
        self, calls: Sequence[AggregateCall], input_types: Sequence[LogicalType], insert_only: bool = True
    ) -> None:
        self.insert_only = insert_only
        self._distinct: list[DistinctValues] = []
        self._calls = [self._prepare(call) for call in calls]
        slots = len(self._distinct)
        for call in self._calls:
            if call.accumulator.uses_multiset:
                call.multiset, slots = slots, slots + 1
        self.multiset_count = slots  # how many multisets each group has
        kept = [c for c in calls if c.function not in _KEEP_NUMBERS]
        self.calls_python = any(call.accumulator.is_python for call in self._calls)
        self.pack = packer([t for c in kept for t in c.argument_types])  # an item of `dump` as bytes
        self._initial = [value for call in self._calls for value in call.accumulator.initial]

    def _prepare(self, call: AggregateCall) -> _Call:
        insert_only = self.insert_only or call.ignores_removals
        prepared = _Call(make_accumulator(call, insert_only), call.arguments, call.filter, call.ignores_removals)
        if (call.distinct and call.function not in _NO_EFFECT) or call.function == "APPROX_COUNT_DISTINCT":
            prepared.distinct = self._distinct_values(call)
        return prepared

    def open(self) -> None:
        """Loads the functions of users. The operator calls it when it is opened."""
        for call in self._calls:
            call.accumulator.open()

    def _distinct_values(self, call: AggregateCall) -> tuple[int, int]:
        """Returns the numbers of the set of different values of a call, and of its filter in that set."""
        in_any_order = call.function in _ANY_ORDER and not any(isinstance(t, FloatType) for t in call.argument_types)
        shared = self.insert_only and in_any_order
        for number, known in enumerate(self._distinct):
            if (known.arguments, known.shared) != (call.arguments, shared):
                continue
            if (place := known.number_of(call.filter)) is not None:
                return number, place
        self._distinct.append(DistinctValues(call.arguments, call.argument_types, self.insert_only, shared))
        return len(self._distinct) - 1, self._distinct[-1].number_of(call.filter) or 0

    # -- accumulators and their stored form

    def create(self, length: int) -> Accumulators:
        """Returns empty accumulators for a number of groups."""
        multisets: list[Multisets] = [MemoryMultisets.create(length) for _ in range(self.multiset_count)]
        return Accumulators(length, [call.accumulator.create(length) for call in self._calls], multisets)

    def load(self, stored: Sequence[list[Any] | None], multisets: Sequence[Multisets] | None = None) -> Accumulators:
        """Returns accumulators from what `dump` returned, one item per group. None is a group without rows.

        multisets: where the multisets of the groups are, if they are not part of the stored items.
        """
        initial = self._initial
        if multisets is None:
            initial = initial + [None] * self.multiset_count
        rows = [initial if row is None else row for row in stored]
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * len(initial)
        fields, at = [], 0
        for call in self._calls:
            width = len(call.accumulator.initial)
            fields.append(call.accumulator.load(columns[at : at + width]))
            at += width
        found: list[Multisets] = list(multisets or ())
        if multisets is None:
            found += [MemoryMultisets.load(column) for column in columns[at:]]
        for call, loaded in zip(self._calls, fields, strict=True):
            if call.multiset is not None:
                call.accumulator.bind(loaded, found[call.multiset])
        return Accumulators(len(rows), fields, found)

    def dump(self, groups: Accumulators) -> list[list[Any]]:
        """Returns the plain values of each group. Multisets in memory are part of them."""
        columns: list[list[Any]] = []
        for call, fields in zip(self._calls, groups.fields, strict=True):
            columns += call.accumulator.dump(fields)
        columns += [m.dump() for m in groups.multisets if isinstance(m, MemoryMultisets)]
        return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in range(groups.length)]

    # -- rows

    def accumulate(self, groups: Accumulators, codes: Codes, rows: Changes) -> None:
        """Adds rows, and removes those whose kind is -U or -D. codes: the number of the group of each row."""
        removes = not self.insert_only and rows.kinds is not None
        self._add(groups, codes, rows.columns, rows.signs() if removes else None)

    def retract(self, groups: Accumulators, codes: Codes, rows: Changes) -> None:
        """Does the opposite of `accumulate`. Needs an AggregateSet that is not `insert_only`."""
        self._add(groups, codes, rows.columns, -rows.signs())

    def _add(self, groups: Accumulators, codes: Codes, columns: list[pa.Array], signs: Signs | None) -> None:
        if not len(codes):
            return
        rows = _Rows(codes, columns, signs)
        filtered: dict[int | None, _Rows] = {None: rows}
        kept: dict[int | None, NDArray[np.bool_]] = {None: np.ones(len(codes), np.bool_)}
        for filter_ in {call.filter for call in self._calls} - {None}:
            assert filter_ is not None
            kept[filter_] = columns[filter_].fill_null(False).to_numpy(zero_copy_only=False)
            filtered[filter_] = rows.take(np.flatnonzero(kept[filter_]))
        changing: list[list[_Rows]] = []
        for distinct, multiset in zip(self._distinct, groups.multisets, strict=False):
            some, passes = rows, [kept[f] for f in distinct.filters]
            if len(distinct.filters) == 1:
                some = filtered[distinct.filters[0]]
            elif None not in distinct.filters:
                at = np.flatnonzero(np.logical_or.reduce(passes))
                some, passes = rows.take(at), [keep[at] for keep in passes]
            arguments = [some.column(i) for i in distinct.arguments]
            found = distinct.changing_rows(multiset, some.codes, arguments, some.signs, passes)
            changing.append([some.take(at) for at in found])
        for call, fields in zip(self._calls, groups.fields, strict=True):
            some = filtered[call.filter] if call.distinct is None else changing[call.distinct[0]][call.distinct[1]]
            if call.ignores_removals and some.signs is not None:
                some = some.take(np.flatnonzero(some.signs > 0))
            if len(some.codes):
                values = None if call.multiset is None else groups.multisets[call.multiset]
                call.accumulator.add(fields, some.codes, [some.column(i) for i in call.arguments], some.signs, values)

    # -- groups

    def merge(self, groups: Accumulators, codes: Codes, others: Accumulators) -> None:
        """Adds other accumulators, in their order: codes are the numbers of the groups that they belong to.

        The multisets of both must be in memory. The others are not changed.
        """
        changes = []
        for distinct, mine, other in zip(self._distinct, groups.multisets, others.multisets, strict=False):
            assert isinstance(mine, MemoryMultisets)
            assert isinstance(other, MemoryMultisets)
            changes.append(distinct.merged_values(mine, codes, other))
        for call, fields, other_fields in zip(self._calls, groups.fields, others.fields, strict=True):
            if call.distinct is not None:
                changed, columns, signs = changes[call.distinct[0]][call.distinct[1]]
                if len(changed):
                    call.accumulator.add(fields, changed, columns, signs)
            elif isinstance(call.accumulator, ChangelogExtreme):
                assert call.multiset is not None
                other = others.multisets[call.multiset]
                assert isinstance(other, MemoryMultisets)
                for group, found in zip(codes.tolist(), other.groups, strict=True):
                    if found:
                        counts, values = zip(*found.values(), strict=True)
                        into = groups.multisets[call.multiset]
                        call.accumulator.change(
                            fields, into, [group] * len(found), list(found), list(values), list(counts)
                        )
            else:
                call.accumulator.merge(fields, codes, other_fields)

    def take(self, groups: Accumulators, positions: NDArray[np.int64]) -> Accumulators:
        """Returns copies of the accumulators of some groups."""
        stored = self.dump(groups)
        return self.load([[_copy(value) for value in stored[i]] for i in positions.tolist()])

    def results(self, groups: Accumulators) -> list[pa.Array]:
        """Returns the results of the calls, one column per call."""
        return [call.accumulator.results(fields) for call, fields in zip(self._calls, groups.fields, strict=True)]


def _copy(value: Any) -> Any:
    return [_copy(v) for v in value] if isinstance(value, list) else value


class _Rows:
    """Rows of a batch. Columns are taken when they are needed, and once."""

    def __init__(
        self, codes: Codes, columns: list[pa.Array], signs: Signs | None, at: NDArray[np.int64] | None = None
    ) -> None:
        self.codes = codes
        self.signs = signs
        self._columns = columns
        self._at = at
        self._taken: dict[int, pa.Array] = {}

    def take(self, positions: NDArray[np.int64]) -> _Rows:
        """Returns some rows."""
        at = positions if self._at is None else self._at[positions]
        signs = None if self.signs is None else self.signs[positions]
        return _Rows(self.codes[positions], self._columns, signs, at)

    def column(self, index: int) -> pa.Array:
        """Returns a column of these rows."""
        if self._at is None:
            return self._columns[index]
        if index not in self._taken:
            self._taken[index] = self._columns[index].take(pa.array(self._at))
        return self._taken[index]
