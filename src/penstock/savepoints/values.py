"""Checks by rewriting them whether all values and keys of a savepoint can be converted to the types of a job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.engine.slots.entry_groups import BROADCAST, key_slice
from penstock.errors import CheckpointError, PenstockError, StateError
from penstock.savepoints.evolution import KeyChanges, StateChanges, value_migrations
from penstock.savepoints.rekeying import KeyRewriter
from penstock.savepoints.savepoint import Savepoint

_MAX_REASONS = 5


@dataclass(slots=True)
class TrialResult:
    """The number of values or keys that were converted, the number that cannot be converted, and the first reasons."""

    values: int = 0
    failed: int = 0
    reasons: list[str] = field(default_factory=list)

    def add_failure(self, error: PenstockError) -> None:
        self.failed += 1
        if len(self.reasons) < _MAX_REASONS:
            self.reasons.append(error.text)


def try_values(savepoint: Savepoint, changes: StateChanges) -> dict[tuple[str, str], TrialResult]:
    """Rewrites all values of changed states, and discards them. Results are by operator and state."""
    results: dict[tuple[str, str], TrialResult] = {}
    for (operator, state), migrate in value_migrations(changes).items():
        result = results[operator, state] = TrialResult()
        for _, flat in savepoint.blocks(operator, state):
            for name, data in zip(flat[::2], flat[1::2], strict=True):
                result.values += 1
                try:
                    migrate(name, data)
                except StateError as error:
                    result.add_failure(error)
    return results


def try_keys(savepoint: Savepoint, changes: KeyChanges) -> dict[str, TrialResult]:
    """Rewrites all keys of operators with changed keys, and checks for collisions. Results are by uid."""
    results: dict[str, TrialResult] = {}
    for operator, change in changes.items():
        result, keys = results.setdefault(operator, TrialResult()), KeyRewriter(operator, change)
        invalid: set[bytes] = set()
        for old in _keys(savepoint, operator):
            try:
                keys.record(old, keys.rewrite(old))
            except CheckpointError as error:
                if old not in invalid:
                    invalid.add(old)
                    result.add_failure(error)
        result.values = keys.count + len(invalid)
        try:
            keys.check_collisions(old for old in _keys(savepoint, operator) if old not in invalid)
        except CheckpointError as error:
            result.add_failure(error)
    return results


def _keys(savepoint: Savepoint, operator: str) -> Iterator[bytes]:
    """The keys of the entries of an operator. Repeated keys that follow each other are returned once."""
    kinds = {s.name: s.kind for o in savepoint.manifest.operators if o.uid == operator for s in o.states}
    last = None
    for block, flat in savepoint.blocks(operator):
        if block.first != BROADCAST:
            kind = kinds[block.state]
            for name in flat[::2]:
                if (key := name[key_slice(kind, name)]) != last:
                    yield key
                    last = key
