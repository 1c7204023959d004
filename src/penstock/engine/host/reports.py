"""What slots report at the end of a batch, and what is checked of it before the batch is committed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

from penstock.engine.frames import Report
from penstock.errors import StateError, UnreadDeadLetters


def add_flows(total: dict[str, tuple[int, int]], flows: Mapping[str, tuple[int, int]]) -> None:
    """Adds elements in and out, by operator.

    >>> total = {"a": (1, 1)}
    >>> add_flows(total, {"a": (2, 0), "b": (3, 3)})
    >>> total
    {'a': (3, 1), 'b': (3, 3)}
    """
    for uid, (entered, left) in flows.items():
        before = total.get(uid, (0, 0))
        total[uid] = before[0] + entered, before[1] + left


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


def count_letters(told: Iterable[tuple[str, int, int]]) -> dict[str, tuple[int, int]]:
    """Dead letters by operator: how many were made, and how many nobody reads.

    >>> count_letters([("a", 2, 0), ("a", 1, 0), ("b", 3, 3)])
    {'a': (3, 0), 'b': (3, 3)}
    """
    counted: dict[str, tuple[int, int]] = {}
    for uid, made, unread in told:
        before = counted.get(uid, (0, 0))
        counted[uid] = before[0] + made, before[1] + unread
    return counted


def warn_of_unread(unread: Iterable[str], warned: set[str]) -> None:
    """Warns once of each operator whose dead letters nobody reads."""
    for uid in unread:
        if uid not in warned:
            warned.add(uid)
            warnings.warn(
                f"Operator '{uid}' puts elements aside as dead letters, and nobody reads them: "
                "call get_side_output(DEAD_LETTERS) on its stream. The job's reports count them.",
                UnreadDeadLetters,
                stacklevel=2,
            )
