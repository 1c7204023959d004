"""The condition of a join besides equal keys, evaluated for many pairs of rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.compiler import Projection
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.joins.join_side import JoinSide
from penstock.runtime.relational.specs.operators import JoinSpec

_PAIRS = 50_000  # evaluated together


class JoinCondition:
    """Which pairs of rows of a batch fulfil the condition. Without a condition all pairs do."""

    def __init__(self, spec: JoinSpec) -> None:
        self._spec = spec
        self._compiled: Projection | None = None
        if spec.condition is not None:
            self._compiled = Projection([spec.condition], Session(zone=spec.zone))
        self._results: dict[tuple[bytes, bytes], bool] = {}

    def prepare(self, events: Sequence[Any], sides: tuple[JoinSide, JoinSide]) -> None:
        """Evaluates the condition for each new row with all rows of its key, old and new ones."""
        self._results.clear()
        if self._compiled is None:
            return
        new: tuple[dict[bytes, dict[bytes, None]], ...] = ({}, {})
        for event in events:
            if event.joinable:
                new[event.side].setdefault(event.key, {})[event.row] = None
        pairs: dict[tuple[bytes, bytes], None] = {}
        for key in {**new[0], **new[1]}:
            left, right = new[0].get(key, {}), new[1].get(key, {})
            every_left, every_right = {**sides[0].rows(key), **left}, {**sides[1].rows(key), **right}
            for row in left:
                pairs.update(((row, other), None) for other in every_right)
            for row in right:
                pairs.update(((other, row), None) for other in every_left)
            if len(pairs) >= _PAIRS:
                self._evaluate(list(pairs), sides)
                pairs.clear()
        self._evaluate(list(pairs), sides)

    def _evaluate(self, pairs: list[tuple[bytes, bytes]], sides: tuple[JoinSide, JoinSide]) -> None:
        if not pairs:
            return
        columns: list[pa.Array] = []
        for side in (0, 1):
            numbers: dict[bytes, int] = {}
            at = pa.array([numbers.setdefault(pair[side], len(numbers)) for pair in pairs])
            columns += [column.take(at) for column in sides[side].decode(list(numbers))]
        assert self._compiled is not None
        [found] = self._compiled(columns, len(pairs))
        holds = pc.fill_null(found, self._spec.unknown_matches).to_pylist()
        self._results.update(zip(pairs, holds, strict=True))

    def holds(self, side: int, row: bytes, other: bytes) -> bool:
        """Whether a row of a side and a row of the other side fulfil the condition."""
        if self._compiled is None:
            return True
        return self._results[(row, other) if side == 0 else (other, row)]
