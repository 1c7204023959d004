"""Tries the values and keys of a savepoint: whether every one becomes one of the type that a job has now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.engine.entry_groups import BROADCAST, key_at
from penstock.errors import CheckpointError, PenstockError, StateError
from penstock.savepoints.evolution import Changes, migrations
from penstock.savepoints.key_change import KeyChanges
from penstock.savepoints.new_keys import NewKeys
from penstock.savepoints.savepoint import Savepoint

_MOST_TOLD = 5


@dataclass(slots=True)
class Tried:
    """How many values of a state, or keys of an operator, were rewritten, how many could not be, and why the first of them."""

    values: int = 0
    failed: int = 0
    reasons: list[str] = field(default_factory=list)

    def fail(self, error: PenstockError) -> None:
        self.failed += 1
        if len(self.reasons) < _MOST_TOLD:
            self.reasons.append(error.text)


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
                    tried.fail(error)
    return found


def try_keys(savepoint: Savepoint, changes: KeyChanges) -> dict[str, Tried]:
    """Rewrites all keys of operators whose keys change, and compares them; by uid."""
    found: dict[str, Tried] = {}
    for operator, change in changes.items():
        tried, keys = found.setdefault(operator, Tried()), NewKeys(operator, change)
        refused: set[bytes] = set()
        for old in _keys(savepoint, operator):
            try:
                keys.keep(old, keys.of(old))
            except CheckpointError as error:
                if old not in refused:
                    refused.add(old)
                    tried.fail(error)
        tried.values = keys.kept + len(refused)
        try:
            keys.check(old for old in _keys(savepoint, operator) if old not in refused)
        except CheckpointError as error:
            tried.fail(error)
    return found


def _keys(savepoint: Savepoint, operator: str) -> Iterator[bytes]:
    """The keys of an operator's entries: each as often as it has entries, those that follow each other once."""
    kinds = {s.name: s.kind for o in savepoint.manifest.operators if o.uid == operator for s in o.states}
    last = None
    for block, flat in savepoint.blocks(operator):
        if block.first != BROADCAST:
            kind = kinds[block.state]
            for name in flat[::2]:
                if (key := name[key_at(kind, name)]) != last:
                    yield key
                    last = key
