"""Synthetic checkpoint histories: a healthy job, with changes."""

from __future__ import annotations

from collections.abc import Callable

from penstock.jobs.registry.checkpoint_stats import (
    CheckpointStats,
    OperatorStats,
    SinkStats,
    SourceStats,
    SparkTimings,
    TaskStats,
)

BEGIN = 1_767_258_000.0
Change = Callable[[CheckpointStats], object]


def healthy(number: int, every: float = 1.0) -> CheckpointStats:
    """A checkpoint of 0.4 s: 1000 elements, two slots, half of the time for the elements."""
    began = BEGIN + number * every
    return CheckpointStats(
        number,
        interval=every,
        acknowledged_tasks=4,
        all_tasks=4,
        measured=SparkTimings(began, 0.4, 0.05, 0.03, 0.3, [0.01], [0.005], 4),
        tasks=[
            *(TaskStats(0, slot, began + 0.1, 500, run=0.02) for slot in (0, 1)),
            *(
                TaskStats(1, slot, began + 0.15, 500, 0.005, 0.15, 0.005, 100_000, 4000, f"laptop:{slot + 1}")
                for slot in (0, 1)
            ),
        ],
        operators=[OperatorStats("t", "totals", 1, 1000, 1000, 0.02, 0.01, 1.05, 400, 8000, None)],
        sources=[SourceStats("s", "orders", 1000, 0.01, 0)],
        sinks=[SinkStats("o", "out", 1000, 0.01, 0.01)],
    )


def history(count: int = 20, change: Change | None = None, since: int = 0, every: float = 1.0) -> list[CheckpointStats]:
    """A history of healthy checkpoints. `change` is applied from checkpoint `since` on."""
    checkpoints = [healthy(number, every) for number in range(count)]
    for checkpoint in checkpoints[since:]:
        if change is not None:
            change(checkpoint)
    return checkpoints


def now(history: list[CheckpointStats]) -> float:
    return history[-1].ended + 0.1
