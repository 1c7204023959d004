"""The loop of relational operators, which process one batch of one slot as columns."""

from __future__ import annotations

from penstock.runtime.loop.call_site import CallSite
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.operators.operator import Input, Output, RelationalOperator


class RelationalLoop:
    """Processes the batches of one relational operator in one slot."""

    def __init__(self, name: str, operator: RelationalOperator, context: OperatorContext) -> None:
        self._operator = operator
        self._context = context
        self.site = CallSite(name, context.runtime.uid)

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        self._context.begin_batch(advance.batch, advance.now)
        try:
            return self._operator.run(inputs, advance)
        except Exception as error:
            raise self.site.error(error) from error

    def wake(self) -> int | None:
        return self._operator.wake()

    def next_event_time(self, watermark: int) -> int | None:
        return self._operator.next_event_time(watermark)
