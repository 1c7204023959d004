"""Adds up the rows of a chunk by window slice and key before the exchange."""

from __future__ import annotations

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult
from penstock.runtime.relational.specs.operators import WindowAggregateSpec
from penstock.runtime.relational.windows.partials import SlicePartials
from penstock.types.logical.kinds import DecimalType, IntegerType

_ANY_ORDER = ("COUNT", "MIN", "MAX")
_EXACT_SUMS = ("SUM", "SUM0", "AVG")  # sums of floating-point numbers depend on the order


class SlicePartialsStep:
    """Turns rows into partial accumulators, so that fewer rows are sent. The operator after the exchange merges them."""

    def __init__(self, spec: WindowAggregateSpec) -> None:
        self._spec = spec
        self._partials: SlicePartials | None = None

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_partials": None}

    def open(self) -> None:
        self._partials = SlicePartials(self._spec)

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        assert self._partials is not None
        partials, marks = self._partials.of(rows, context.watermarks())
        return StepResult(partials, watermarks=marks)


def can_be_partial(spec: WindowAggregateSpec) -> bool:
    """Whether the rows of a window aggregate may be added up before the exchange without changing any result."""
    if spec.window.kind == "SESSION" or spec.start_column >= 0 or not spec.insert_only:
        return False
    if spec.early is not None or spec.late is not None or spec.allow_lateness or not spec.window.event_time:
        return False
    return all(
        call.function in _ANY_ORDER
        or (call.function in _EXACT_SUMS and all(isinstance(t, IntegerType | DecimalType) for t in call.argument_types))
        for call in spec.calls
    )
