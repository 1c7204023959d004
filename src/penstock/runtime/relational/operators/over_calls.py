"""The calls of an OVER: aggregates by frame, and functions of the place of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import PlanError
from penstock.runtime.relational.aggregates.accumulators import AggregateSet
from penstock.runtime.relational.expressions.values import from_values
from penstock.runtime.relational.operators.over_frames import Partitions, Positions, frame_results, running_results
from penstock.runtime.relational.specs.operators import OverCall
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import LogicalType

NUMBERS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
NEIGHBOURS = ("LAG", "LEAD")
SHARES = ("NTILE", "CUME_DIST", "PERCENT_RANK")
PLACES = (*NUMBERS, *NEIGHBOURS, *SHARES)


def offset_of(call: OverCall) -> int:
    """Returns how many rows LAG or LEAD look back or ahead."""
    options = call.call.options
    return int(options[0]) if options and options[0] is not None else 1


class OverCalls:
    """Computes the results of all calls, one column per call.

    Calls with the same frame share their accumulators. Frames from the start of the partition to the current row are running:
    their accumulators continue with the next rows.
    """

    def __init__(self, calls: Sequence[OverCall], types: Sequence[LogicalType]) -> None:
        self._calls = calls
        # In streaming mode Flink adds all peers of a RANGE before it reads a result. So RANK and DENSE_RANK are the number of the
        # last peer, and LAG counts from it. With ROWS, and in batch mode, they are what the SQL standard says.
        self.counts_peers = True
        self._running = [
            i for i, c in enumerate(calls) if c.call.function not in PLACES and c.lower is None and c.upper == 0
        ]
        self._running_set = AggregateSet([calls[i].call for i in self._running], types) if self._running else None
        self._framed: list[tuple[list[int], AggregateSet]] = []
        frames: dict[tuple[Any, ...], list[int]] = {}
        for i, call in enumerate(calls):
            if call.call.function not in PLACES and i not in self._running:
                frames.setdefault((call.mode, call.lower, call.upper), []).append(i)
        for same in frames.values():
            self._framed.append((same, AggregateSet([calls[i].call for i in same], types)))

    def open(self) -> None:
        """Loads the functions of users."""
        if self._running_set is not None:
            self._running_set.open()
        for _, aggregates in self._framed:
            aggregates.open()

    @property
    def has_running(self) -> bool:
        """Whether there are calls with accumulators that continue."""
        return self._running_set is not None

    def results(
        self, columns: list[pa.Array], rows: Partitions, wanted: Positions, lengths: Sequence[int], stored: list[Any]
    ) -> list[pa.Array]:
        """Returns the results of some rows.

        wanted: positions of the rows, all rows of each partition from some row on. lengths: how many of them each partition has.
        stored: the plain values of the accumulators of running calls for each partition before these rows; replaced by those after.
        """
        found: dict[int, pa.Array] = {}
        if self._running_set is not None:
            at = pa.array(wanted)
            new = [c.take(at) for c in columns]
            running = running_results(self._running_set, stored, lengths, new)
            place = np.full(len(rows.start), -1, np.int64)
            place[wanted] = np.arange(len(wanted))
            last_peer = pa.array(place[rows.after_peers[wanted] - 1])
            for number, result in zip(self._running, running, strict=True):
                found[number] = result if self._calls[number].mode == "ROWS" else result.take(last_peer)
        for numbers, aggregates in self._framed:
            low, high = rows.bounds(self._calls[numbers[0]], wanted)
            found.update(zip(numbers, frame_results(aggregates, columns, low, high), strict=True))
        for number, call in enumerate(self._calls):
            if call.call.function in PLACES:
                found[number] = self._place(call, columns, rows, wanted)
        return [found[number] for number in range(len(self._calls))]

    def _place(self, call: OverCall, columns: list[pa.Array], rows: Partitions, wanted: Positions) -> pa.Array:
        name = call.call.function
        if name in NEIGHBOURS:
            return self._neighbour(call, columns, rows, wanted)
        start, stop = rows.start[wanted], rows.stop[wanted]
        peer, after, earlier = rows.first_peer[wanted], rows.after_peers[wanted], rows.earlier[wanted]
        count = stop - start
        type_ = arrow_type(call.call.type)
        if name == "ROW_NUMBER":
            return pa.array(earlier + wanted - start + 1).cast(type_)
        if self.counts_peers and call.mode == "RANGE" and name in NUMBERS:
            return pa.array(earlier + after - start).cast(type_)
        if name == "RANK":
            return pa.array(earlier + peer - start + 1).cast(type_)
        if name == "DENSE_RANK":
            new = np.cumsum(rows.first_peer == np.arange(len(rows.start)))
            return pa.array(new[wanted] - new[start] + 1).cast(type_)
        if name == "CUME_DIST":
            return pa.array((after - start) / count).cast(type_)
        if name == "PERCENT_RANK":
            return pa.array(np.where(count > 1, (peer - start) / np.maximum(count - 1, 1), 0.0)).cast(type_)
        parts = int(call.call.options[0])
        if parts < 1:
            raise PlanError(
                "NTILE_PARTS", f"NTILE({parts}) divides rows into fewer than one part. Use a positive number."
            )
        size, larger = count // parts, count % parts  # the first parts have one row more
        place = wanted - start
        in_larger = larger * (size + 1)
        tile = np.where(place < in_larger, place // (size + 1), larger + (place - in_larger) // np.maximum(size, 1))
        return pa.array(tile + 1).cast(type_)

    def _neighbour(self, call: OverCall, columns: list[pa.Array], rows: Partitions, wanted: Positions) -> pa.Array:
        """LAG and LEAD."""
        offset = offset_of(call) * (-1 if call.call.function == "LAG" else 1)
        base = rows.after_peers[wanted] - 1 if call.mode == "RANGE" and self.counts_peers else wanted
        at = base + offset
        inside = (at >= rows.start[wanted]) & (at < rows.stop[wanted])
        found = columns[call.call.arguments[0]].take(pa.array(np.where(inside, at, 0), mask=~inside))
        default: Any = None
        if len(call.call.arguments) > 1:
            default = columns[call.call.arguments[-1]].take(pa.array(wanted))
        elif len(call.call.options) > 1 and call.call.options[1] is not None:
            default = from_values([call.call.options[1]] * len(wanted), call.call.type)
        type_ = arrow_type(call.call.type)
        found = found if found.type == type_ else found.cast(type_)
        return found if default is None else pc.if_else(pa.array(inside), found, default.cast(type_))
