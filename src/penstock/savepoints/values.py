"""Tries the values of a savepoint: whether every one becomes a value of the type that a job has now."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.errors import StateError
from penstock.savepoints.evolution import Changes, migrations
from penstock.savepoints.savepoint import Savepoint

_MOST_TOLD = 5


@dataclass(slots=True)
class Tried:
    """How many values of a state were rewritten, how many could not be, and why the first of them."""

    values: int = 0
    failed: int = 0
    reasons: list[str] = field(default_factory=list)


def try_values(savepoint: Savepoint, changes: Changes) -> dict[tuple[str, str], Tried]:
    """Rewrites all values of states that change, and keeps none of them."""
    found: dict[tuple[str, str], Tried] = {}
    for (operator, state), migrate in migrations(changes).items():
        tried = found[operator, state] = Tried()
        for _, flat in savepoint.blocks(operator, state):
            for data in flat[1::2]:
                tried.values += 1
                try:
                    migrate(data)
                except StateError as error:
                    tried.failed += 1
                    if len(tried.reasons) < _MOST_TOLD:
                        tried.reasons.append(error.text)
    return found
