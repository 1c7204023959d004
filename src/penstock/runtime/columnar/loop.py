"""One batch of a window operator that works by columns, beside the slot loop for those that take elements one by one."""

from __future__ import annotations

from penstock.runtime.call_site import CallSite
from penstock.runtime.operator import OperatorContext
from penstock.runtime.slot import Advance
from penstock.runtime.vector.blocks import Block
from penstock.runtime.vector.emissions import VectorEmissions
from penstock.runtime.vector.windows import VectorWindows


class VectorLoop:
    """Runs the batches of one operator in one slot."""

    def __init__(self, name: str, operator: VectorWindows, context: OperatorContext) -> None:
        self._operator = operator
        self.site = CallSite(name, context.runtime.uid)

    def run(self, blocks: list[Block], advance: Advance) -> VectorEmissions:
        return self._operator.run(blocks, advance, self.site)

    def wake(self) -> int | None:
        return self._operator.wake()
