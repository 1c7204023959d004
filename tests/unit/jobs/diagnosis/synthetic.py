"""Histories that tests make up: a healthy job, and what they change of it."""

from __future__ import annotations

from collections.abc import Callable

from penstock.jobs.checkpoints import Checkpoint, Measured, OperatorPart, SinkPart, SourcePart, TaskFigures

BEGIN = 1_767_258_000.0
Change = Callable[[Checkpoint], object]


def healthy(number: int, every: float = 1.0) -> Checkpoint:
    """A checkpoint of 0.4 s: 1000 elements, two slots, half of the time for the elements."""
    began = BEGIN + number * every
    return Checkpoint(
        number,
        interval=every,
        acknowledged_tasks=4,
        all_tasks=4,
        measured=Measured(began, 0.4, 0.05, 0.03, 0.3, [0.01], [0.005], 4),
        tasks=[
            *(TaskFigures(0, slot, began + 0.1, 500, run=0.02) for slot in (0, 1)),
            *(
                TaskFigures(1, slot, began + 0.15, 500, 0.005, 0.15, 0.005, 100_000, 4000, f"laptop:{slot + 1}")
                for slot in (0, 1)
            ),
        ],
        operators=[OperatorPart("t", "totals", 1, 1000, 1000, 0.02, 0.01, 1.05, 400, 8000, None)],
        sources=[SourcePart("s", "orders", 1000, 0.01, 0)],
        sinks=[SinkPart("o", "out", 1000, 0.01, 0.01)],
    )


def history(count: int = 20, change: Change | None = None, since: int = 0, every: float = 1.0) -> list[Checkpoint]:
    """So many checkpoints; something is different from one of them on."""
    found = [healthy(number, every) for number in range(count)]
    for checkpoint in found[since:]:
        if change is not None:
            change(checkpoint)
    return found


def now(found: list[Checkpoint]) -> float:
    return found[-1].ended + 0.1
