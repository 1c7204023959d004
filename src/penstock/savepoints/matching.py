"""Fits a savepoint to a job: which state goes where, where sources go on, and what nobody takes. Pure: reads no state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.engine.program import OperatorProgram, Program
from penstock.errors import CheckpointError
from penstock.runtime.state.backend import Table
from penstock.savepoints.clocks import Clocks
from penstock.savepoints.evolution import Changes
from penstock.savepoints.key_change import KeyChanges
from penstock.savepoints.manifest import Manifest, SavedOperator, SavedSource, SavedState


class Dropped(msgspec.Struct, frozen=True):
    """Something of a savepoint that the job has no place for."""

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
class Matched:
    """How a job goes on from a savepoint."""

    clocks: Clocks
    tables: dict[int, list[Table]] = field(default_factory=dict)  # by level: what its slots keep, in one numbering
    offsets: dict[str, Any] = field(default_factory=dict)  # of sources by number, and of "control"
    sinks: dict[str, Any] = field(default_factory=dict)  # what sinks remember, by uid
    taken: list[str] = field(default_factory=list)  # uids of operators that go on
    added: list[str] = field(default_factory=list)  # uids of those that start empty
    dropped: list[Dropped] = field(default_factory=list)
    changes: Changes = field(default_factory=dict)  # states whose values are rewritten when slots load them
    keys: KeyChanges = field(default_factory=dict)  # operators whose keys are


def match(manifest: Manifest, program: Program, where: str, allow_dropped: bool = False) -> Matched:
    """Finds the job's operators and sources in a savepoint by their uids.

    What is saved and finds no place is refused, or dropped if that is allowed.
    """
    matched = Matched(Clocks(manifest))
    _match_operators(manifest, program, matched)
    _match_sources(manifest, program, matched)
    if matched.dropped and not allow_dropped:
        raise _refused(where, matched, program)
    kept = set(program.sink_uids)
    matched.sinks = {s.uid: s.memory for s in manifest.sinks if s.uid in kept and s.memory is not None}
    return matched


def _match_operators(manifest: Manifest, program: Program, matched: Matched) -> None:
    saved = {o.uid: o for o in manifest.operators}
    now = {o.uid: o for o in program.operators}
    for uid, operator in now.items():
        before = saved.get(uid)
        if before is None:
            matched.added.append(uid)
        else:
            _same_kind(before, operator)
            matched.taken.append(uid)
    for level in range(1, program.depth + 1):
        states = [
            (o.uid, state) for o in program.operators_at(level) if o.uid in saved for state in saved[o.uid].states
        ]
        states.sort(key=lambda pair: (pair[0], pair[1].name))
        matched.tables[level] = [saved_table(number, uid, state) for number, (uid, state) in enumerate(states, 1)]
    for uid, before in saved.items():
        entries = sum(state.entries for state in before.states)
        if uid not in now and entries:  # one that kept nothing is not missed
            names = tuple(sorted(s.name for s in before.states if s.entries))
            matched.dropped.append(Dropped("operator", uid, before.name, names, entries))


def saved_table(number: int, operator: str, state: SavedState) -> Table:
    """The table of a state that is taken over as it is."""
    told = "" if state.type is None else msgspec.json.encode(state.type).decode()
    return Table(number, operator, state.name, state.kind, state.schema, type=told, ttl=state.ttl or 0)


def _same_kind(before: SavedOperator, now: OperatorProgram) -> None:
    if before.keyed != now.spec.keyed and any(state.entries for state in before.states):
        told = {True: "keyed", False: "not keyed"}
        raise CheckpointError(
            "SAVEPOINT_OPERATOR_CHANGED",
            f"Operator '{now.uid}' was {told[before.keyed]} when the savepoint was taken, and is {told[now.spec.keyed]} now: its "
            "state cannot be taken over. Give it another uid and restore with --allow-dropped-state, or change the program back.",
        )


def _match_sources(manifest: Manifest, program: Program, matched: Matched) -> None:
    saved = {s.uid: s for s in manifest.sources}
    numbers: dict[int, int] = {}
    for source in program.sources:
        before = saved.pop(source.uid, None)
        if before is None:
            continue
        kind = source_kind(source.source)
        if before.position is not None or source.source.native:
            _same_source(before, kind, source.source)
            matched.offsets[str(source.number)] = before.position
        numbers[before.number] = source.number
    for gone in saved.values():
        if gone.position is not None:
            matched.dropped.append(Dropped("source", gone.uid, gone.name))
    matched.offsets["control"] = _control(manifest, numbers)


def source_kind(source: Any) -> str:
    """What kind of source a savepoint calls it; one that a test pushes into stands for the program's own."""
    return type(getattr(source, "stands_for", source)).__name__


def _same_source(before: SavedSource, kind: str, source: Any) -> None:
    if before.kind != kind:
        raise CheckpointError(
            "SAVEPOINT_SOURCE_CHANGED",
            f"Source '{before.uid}' was a {before.kind} when the savepoint was taken and is a {kind} now: its position means "
            "nothing to it. Give the new source another uid and restore with --allow-dropped-state; it then starts as a new one.",
        )
    if source.native:
        raise CheckpointError(
            "SAVEPOINT_SOURCE_POSITION",
            f"Source '{before.uid}' is a streaming DataFrame, whose position only Spark's own checkpoint knows: no savepoint can "
            "start it where it was. Read the same data with a source of Penstock's, or give it another uid and restore with "
            "--allow-dropped-state; it then starts as the DataFrame says.",
        )


def _control(manifest: Manifest, numbers: dict[int, int]) -> dict[str, Any]:
    """The control source's word, with the numbers that sources have now."""
    word = manifest.control or {}

    def renumbered(table: dict[str, Any]) -> dict[str, Any]:
        return {str(numbers[int(n)]): splits for n, splits in table.items() if int(n) in numbers}

    ended = {} if manifest.ended == "drain" else renumbered(word.get("ended") or {})
    return {
        "n": word.get("n", 0),
        "clock": word.get("clock"),
        "known": renumbered(word.get("known") or {}),
        "ended": ended,
    }


def _refused(where: str, matched: Matched, program: Program) -> CheckpointError:
    new = ", ".join(f"'{uid}'" for uid in matched.added)
    hint = f" New in the job: {new}; an operator that was renamed needs its old uid." if new else ""
    return CheckpointError(
        "SAVEPOINT_STATE_UNCLAIMED",
        f"The savepoint {where} holds what job '{program.name}' has no place for: "
        f"{'; '.join(map(str, matched.dropped))}.{hint} "
        "Give the operators their uids again, or drop that state with --allow-dropped-state "
        "(execution.state-recovery.ignore-unclaimed-state).",
    )
