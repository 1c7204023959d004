"""What slots report at the end of a batch, and what is checked of it before the batch is committed."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.engine.frames import Report
from penstock.errors import StateError


def compare_broadcast(reports: Iterable[Report]) -> None:
    """Every slot keeps its own copy of broadcast state; they must be equal (time.md 6.2)."""
    seen: dict[str, int] = {}
    for report in reports:
        for uid, hashed in report.broadcast.items():
            if seen.setdefault(uid, hashed) != hashed:
                raise StateError(
                    "BROADCAST_DIFFERS",
                    f"The subtasks of operator '{uid}' changed their copies of broadcast state in different ways. "
                    "process_broadcast_element must do the same everywhere: no subtask index, clock or randomness in it.",
                )
