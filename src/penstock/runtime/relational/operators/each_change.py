"""Runs an operator so that it emits every change of a key, for readers that need all versions of a row."""

from __future__ import annotations

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.column_key import ColumnKey
from penstock.runtime.relational.operators.factory import make_relational_operator
from penstock.runtime.relational.operators.operator import Input, Output
from penstock.runtime.relational.specs.operators import EachChangeSpec


class EachChangeOperator:
    """Cuts a batch where a key occurs again, and runs the parts one after the other: within a batch, updates may be skipped."""

    def __init__(self, spec: EachChangeSpec) -> None:
        inner = spec.operator
        self._key = ColumnKey(inner.keys, tuple(inner.input_types[k] for k in inner.keys))
        self._operator = make_relational_operator(inner)

    @property
    def late_records(self) -> int:
        return self._operator.late_records

    def open(self, context: OperatorContext) -> None:
        self._operator.open(context)

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        [given] = inputs
        output = Output()
        for part in self._parts(given):
            output.parts += self._operator.run([part], advance).parts
        return output

    def _parts(self, given: Input) -> list[Input]:
        if len(given) <= 1:
            return [given]
        groups, _ = self._key.groups(given.changes)
        if len(groups) == len(given):
            return [given]
        starts, seen = [0], set[int]()
        for row, key in enumerate(groups.codes.tolist()):
            if key in seen:
                starts.append(row)
                seen.clear()
            seen.add(key)
        ends = [*starts[1:], len(given)]
        return [
            Input(given.changes.slice(start, end), given.watermarks[start:end], given.ranks[start:end])
            for start, end in zip(starts, ends, strict=True)
        ]

    def wake(self) -> int | None:
        return self._operator.wake()

    def next_event_time(self, watermark: int) -> int | None:
        return self._operator.next_event_time(watermark)

    def close(self) -> None:
        self._operator.close()
