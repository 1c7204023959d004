"""Matches a savepoint with a job: the tables of each level, the start positions of sources, and parts that the job lacks.

Reads no entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.engine.program.program import OperatorProgram, Program
from penstock.errors import CheckpointError
from penstock.runtime.state.tables import StateTable
from penstock.savepoints.clocks import SavedClocks
from penstock.savepoints.evolution import KeyChanges, StateChanges
from penstock.savepoints.manifest import Manifest, SavedOperator, SavedSource, SavedState


class UnclaimedPart(msgspec.Struct, frozen=True):
    """An operator or a source of a savepoint that the job does not have."""

    kind: str  # "operator" or "source"
    uid: str
    name: str
    states: tuple[str, ...] = ()
    entries: int = 0

    def __str__(self) -> str:
        what = f"{self.kind} '{self.uid}' ({self.name})" if self.name != self.uid else f"{self.kind} '{self.uid}'"
        if self.kind == "source":
            return f"{what}: its position"
        return f"{what}: {', '.join(self.states)} with {self.entries:,} entries"


@dataclass(slots=True)
class RestoreMatch:
    """The parts of a savepoint that a job starts with."""

    clocks: SavedClocks
    tables: dict[int, list[StateTable]] = field(default_factory=dict)  # by level; the numbers are the same in all slots
    offsets: dict[str, Any] = field(default_factory=dict)  # by source number, and of "control"
    sinks: dict[str, Any] = field(default_factory=dict)  # the stored data of sinks, by uid
    restored: list[str] = field(default_factory=list)  # uids of operators with saved state
    added: list[str] = field(default_factory=list)  # uids of operators that start empty
    dropped: list[UnclaimedPart] = field(default_factory=list)
    state_changes: StateChanges = field(default_factory=dict)  # states whose values are rewritten when slots load them
    key_changes: KeyChanges = field(default_factory=dict)  # operators whose keys are rewritten


def match_savepoint(manifest: Manifest, program: Program, where: str, allow_dropped: bool = False) -> RestoreMatch:
    """Looks up the operators and sources of a job in a savepoint by their uids.

    Raises:
        CheckpointError: the savepoint has state that the job lacks, and `allow_dropped` is not set.
    """
    matched = RestoreMatch(SavedClocks(manifest))
    _match_operators(manifest, program, matched)
    _match_sources(manifest, program, matched)
    if matched.dropped and not allow_dropped:
        raise _unclaimed_error(where, matched, program)
    sinks = set(program.sink_uids)
    matched.sinks = {s.uid: s.memory for s in manifest.sinks if s.uid in sinks and s.memory is not None}
    return matched


def _match_operators(manifest: Manifest, program: Program, matched: RestoreMatch) -> None:
    saved = {o.uid: o for o in manifest.operators}
    now = {o.uid: o for o in program.operators}
    for uid, operator in now.items():
        before = saved.get(uid)
        if before is None:
            matched.added.append(uid)
        else:
            _check_keyed(before, operator)
            matched.restored.append(uid)
    for level in range(1, program.depth + 1):
        states = [
            (o.uid, state) for o in program.operators_at(level) if o.uid in saved for state in saved[o.uid].states
        ]
        states.sort(key=lambda pair: (pair[0], pair[1].name))
        matched.tables[level] = [saved_table(number, uid, state) for number, (uid, state) in enumerate(states, 1)]
    for uid, before in saved.items():
        entries = sum(state.entries for state in before.states)
        if uid not in now and entries:  # an operator without entries is ignored
            names = tuple(sorted(s.name for s in before.states if s.entries))
            matched.dropped.append(UnclaimedPart("operator", uid, before.name, names, entries))


def saved_table(number: int, operator: str, state: SavedState) -> StateTable:
    """The table of a state that is restored unchanged."""
    type_ = "" if state.type is None else msgspec.json.encode(state.type).decode()
    return StateTable(number, operator, state.name, state.kind, state.schema, type=type_, ttl=state.ttl or 0)


def _check_keyed(before: SavedOperator, now: OperatorProgram) -> None:
    if before.keyed != now.spec.keyed and any(state.entries for state in before.states):
        text = {True: "keyed", False: "not keyed"}
        raise CheckpointError(
            "SAVEPOINT_OPERATOR_CHANGED",
            f"Operator '{now.uid}' was {text[before.keyed]} when the savepoint was taken, and is {text[now.spec.keyed]} now. Its "
            "state cannot be restored. Set another uid and restore with --allow-dropped-state, or change the program back.",
        )


def _match_sources(manifest: Manifest, program: Program, matched: RestoreMatch) -> None:
    saved = {s.uid: s for s in manifest.sources}
    numbers: dict[int, int] = {}
    for source in program.sources:
        before = saved.pop(source.uid, None)
        if before is None:
            continue
        kind = source_kind(source.source)
        if before.position is not None or source.source.native:
            _check_source(before, kind, source.source)
            matched.offsets[str(source.number)] = before.position
        numbers[before.number] = source.number
    for removed in saved.values():
        if removed.position is not None:
            matched.dropped.append(UnclaimedPart("source", removed.uid, removed.name))
    matched.offsets["control"] = _control(manifest, numbers)


def source_kind(source: Any) -> str:
    """The kind of a source in a savepoint. A source of a test harness has the kind of the source that it replaces."""
    return type(getattr(source, "stands_for", source)).__name__


def _check_source(before: SavedSource, kind: str, source: Any) -> None:
    if before.kind != kind:
        raise CheckpointError(
            "SAVEPOINT_SOURCE_CHANGED",
            f"Source '{before.uid}' was a {before.kind} when the savepoint was taken and is a {kind} now, which cannot use the "
            "saved position. Set another uid for it and restore with --allow-dropped-state. It then starts as a new source.",
        )
    if source.native:
        raise CheckpointError(
            "SAVEPOINT_SOURCE_POSITION",
            f"Source '{before.uid}' is a streaming DataFrame. Only Spark's checkpoint has its position, so it cannot start from a "
            "savepoint. Read the same data with a Penstock source, or set another uid and restore with --allow-dropped-state. It "
            "then starts as the DataFrame is configured.",
        )


def _control(manifest: Manifest, numbers: dict[int, int]) -> dict[str, Any]:
    """The offset of the control source, with the source numbers of the job."""
    offset = manifest.control or {}

    def renumber(table: dict[str, Any]) -> dict[str, Any]:
        return {str(numbers[int(n)]): splits for n, splits in table.items() if int(n) in numbers}

    ended = {} if manifest.ended == "drain" else renumber(offset.get("ended") or {})
    return {
        "n": offset.get("n", 0),
        "clock": offset.get("clock"),
        "known": renumber(offset.get("known") or {}),
        "ended": ended,
    }


def _unclaimed_error(where: str, matched: RestoreMatch, program: Program) -> CheckpointError:
    new = ", ".join(f"'{uid}'" for uid in matched.added)
    hint = f" New in the job: {new}. An operator that was renamed needs its old uid." if new else ""
    return CheckpointError(
        "SAVEPOINT_STATE_UNCLAIMED",
        f"The savepoint {where} contains parts that job '{program.name}' does not have: "
        f"{'; '.join(map(str, matched.dropped))}.{hint} "
        "Set the old uids for the operators, or drop this state with --allow-dropped-state "
        "(execution.state-recovery.ignore-unclaimed-state).",
    )
