"""The loop of columnar window operators, which processes one batch of one slot as columns, not element by element."""

from __future__ import annotations

from penstock.runtime.columnar.column_block import ColumnBlock
from penstock.runtime.columnar.emissions import ColumnarEmissions
from penstock.runtime.columnar.operator import ColumnarWindowOperator
from penstock.runtime.loop.call_site import CallSite
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext


class ColumnarLoop:
    """Processes the batches of one columnar operator in one slot."""

    def __init__(self, name: str, operator: ColumnarWindowOperator, context: OperatorContext) -> None:
        self._operator = operator
        self.site = CallSite(name, context.runtime.uid)

    def run(self, blocks: list[ColumnBlock], advance: Advance) -> ColumnarEmissions:
        return self._operator.run(blocks, advance, self.site)

    def wake(self) -> int | None:
        return self._operator.wake()

    def next_event_time(self, watermark: int) -> int | None:
        return self._operator.next_event_time(watermark)
