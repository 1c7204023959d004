"""Compares the operators, sources and sinks of a savepoint with those of a job. Their states are compared in `check.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.engine.program.program import OperatorProgram, Program, SourceProgram
from penstock.errors import CheckpointError
from penstock.savepoints.evolution import AS_IS, INCOMPATIBLE
from penstock.savepoints.manifest import Manifest, SavedOperator, SavedSink, SavedSource

NEW, DROPPED = "new", "dropped"
UNUSED = "~unused"  # behind the uid of a part of a query that the changed query does not use

_FUNCTIONS = ("process", "broadcast", "factory")  # kinds whose states are those of the user's function, found by name
_KIND_NAMES = {
    "process": "process function",
    "broadcast": "function with a broadcast stream",
    "cached_lookup": "cached lookup",
    "cep": "pattern",
    "dynamic_cep": "patterns from a stream",
    "interval_join": "interval join",
    "co_group": "window join",
    "factory": "function",
    "generator": "watermark generator",
}


@dataclass(frozen=True, slots=True)
class PartCheck:
    """One operator, source or sink: what it was, what it is now, and whether it can be restored."""

    part: str  # "operator", "source" or "sink"
    uid: str
    before: str
    after: str
    verdict: str
    difference: str = ""  # and what to do
    code: str = ""  # of the error of a job that cannot start

    @property
    def compatible(self) -> bool:
        return self.verdict not in (INCOMPATIBLE, DROPPED)

    def error(self) -> CheckpointError:
        return CheckpointError(self.code, self.difference)


class UnclaimedPart(msgspec.Struct, frozen=True):
    """An operator, a source or a sink of a savepoint that the job does not have."""

    kind: str  # "operator", "source" or "sink"
    uid: str
    name: str
    states: tuple[str, ...] = ()
    entries: int = 0

    def __str__(self) -> str:
        uid = self.uid.removesuffix(UNUSED)
        what = f"{self.kind} '{uid}' ({self.name})" if self.name != uid else f"{self.kind} '{uid}'"
        if self.kind == "source":
            return f"{what}: its position"
        if self.kind == "sink":
            return f"{what}: output that was not visible yet"
        return f"{what}: {', '.join(self.states)} with {self.entries:,} entries"


def compare_parts(manifest: Manifest, program: Program) -> list[PartCheck]:
    """Compares all operators, sources and sinks, which are matched by uid."""
    return [
        *_compare_operators(manifest, program),
        *_compare_sources(manifest, program),
        *_compare_sinks(manifest, program),
    ]


def unclaimed_parts(manifest: Manifest, program: Program) -> list[UnclaimedPart]:
    """The parts of a savepoint that a job does not have. Operators without entries and sources without position are ignored."""
    operators, sources = {o.uid for o in program.operators}, {s.uid for s in program.sources}
    parts = []
    for operator in manifest.operators:
        entries = sum(state.entries for state in operator.states)
        if operator.uid not in operators and entries:
            names = tuple(sorted(s.name for s in operator.states if s.entries))
            parts.append(UnclaimedPart("operator", operator.uid, operator.name, names, entries))
    parts += [
        UnclaimedPart("source", s.uid, s.name)
        for s in manifest.sources
        if s.uid not in sources and s.position is not None
    ]
    return [*parts, *(UnclaimedPart("sink", s.uid, s.name) for s in _unclaimed_sinks(manifest, program))]


def source_kind(source: Any) -> str:
    """The kind of a source in a savepoint. A source of a test harness has the kind of the source that it replaces."""
    return type(getattr(source, "stands_for", source)).__name__


def has_memory(sink: SavedSink) -> bool:
    """Whether a sink has stored something. A file sink of earlier versions stored an empty list if no file was pending."""
    return sink.memory is not None and not (isinstance(sink.memory, dict) and sink.memory.get("files") == [])


def _compare_operators(manifest: Manifest, program: Program) -> Iterator[PartCheck]:
    saved = {o.uid: o for o in manifest.operators}
    for operator in program.operators:
        before = saved.get(operator.uid)
        if before is not None and any(state.entries for state in before.states):
            yield _compare_operator(before, operator)


def _compare_operator(before: SavedOperator, now: OperatorProgram) -> PartCheck:
    old, new = _operator_text(before.kind, before.keyed), _operator_text(now.spec.kind, now.spec.keyed)
    same_kind = before.kind in ("", now.spec.kind) or (before.kind in _FUNCTIONS and now.spec.kind in _FUNCTIONS)
    if same_kind and before.keyed == now.spec.keyed:
        return PartCheck("operator", now.uid, old, new, AS_IS)
    keyed = {True: "keyed", False: "not keyed"}
    was, is_ = (keyed[before.keyed], keyed[now.spec.keyed]) if same_kind else (old, new)
    error = CheckpointError(
        "SAVEPOINT_OPERATOR_CHANGED",
        f"Operator '{now.uid}' was {was} when the savepoint was taken, and is {is_} now, so its state cannot be restored. Set "
        "another uid for it and restore with --allow-dropped-state, or change the program back.",
    )
    return _incompatible_part("operator", now.uid, (old, new), error)


def _operator_text(kind: str, keyed: bool) -> str:
    name = _KIND_NAMES.get(kind, kind or "function")
    return f"a {name}" if keyed else f"a {name} without keys"


def _compare_sources(manifest: Manifest, program: Program) -> Iterator[PartCheck]:
    saved = {s.uid: s for s in manifest.sources}
    for source in program.sources:
        before = saved.pop(source.uid, None)
        yield (
            _new_part("source", source.uid, source_kind(source.source))
            if before is None
            else _compare_source(before, source)
        )
    for removed in saved.values():
        if removed.position is not None:
            yield _dropped_part("source", removed.uid, removed.kind)


def _compare_source(before: SavedSource, now: SourceProgram) -> PartCheck:
    source, kind = now.source, source_kind(now.source)
    if before.position is None and not source.native:  # it was not read yet
        return PartCheck("source", now.uid, before.kind, kind, AS_IS)
    error = _source_error(before, kind, source)
    if error is not None:
        return _incompatible_part("source", now.uid, (before.kind, kind), error)
    return PartCheck("source", now.uid, before.kind, kind, AS_IS)


def _source_error(before: SavedSource, kind: str, source: Any) -> CheckpointError | None:
    if before.kind != kind:
        return CheckpointError(
            "SAVEPOINT_SOURCE_CHANGED",
            f"Source '{before.uid}' was a {before.kind} when the savepoint was taken and is a {kind} now, which cannot use the "
            "saved position. Set another uid for it and restore with --allow-dropped-state. It then starts as a new source.",
        )
    if source.native:
        return CheckpointError(
            "SAVEPOINT_SOURCE_POSITION",
            f"Source '{before.uid}' is a streaming DataFrame. Only Spark's checkpoint has its position, so it cannot start from a "
            "savepoint. Read the same data with a Penstock source, or set another uid and restore with --allow-dropped-state. It "
            "then starts as the DataFrame is configured.",
        )
    if foreign := source.foreign_parts(before.position):
        return CheckpointError(
            "SAVEPOINT_SOURCE_CHANGED",
            f"Source '{before.uid}' has a saved position in {', '.join(foreign)}, which the program does not read with this source "
            "anymore. The job would continue there. Change the program back, or set another uid for the source and restore with "
            "--allow-dropped-state. It then starts as a new source.",
        )
    return None


def _compare_sinks(manifest: Manifest, program: Program) -> Iterator[PartCheck]:
    saved = {s.uid: s for s in manifest.sinks}
    for removed in _unclaimed_sinks(manifest, program):
        yield _dropped_part("sink", removed.uid, removed.kind)
    for uid, sink in zip(program.sink_uids, program.sinks, strict=True):
        before, kind = saved.pop(uid, None), type(sink).__name__
        if before is None:
            yield _new_part("sink", uid, kind)
        elif not has_memory(before) or before.kind == kind or getattr(sink, "stands_in", False):
            yield PartCheck("sink", uid, before.kind, kind, AS_IS)
        else:
            error = CheckpointError(
                "SAVEPOINT_SINK_CHANGED",
                f"Sink '{uid}' was a {before.kind} when the savepoint was taken and is a {kind} now, which cannot continue with "
                "the saved output that was not visible yet. Set another uid for it and restore with --allow-dropped-state, or "
                "change the program back.",
            )
            yield _incompatible_part("sink", uid, (before.kind, kind), error)


def _unclaimed_sinks(manifest: Manifest, program: Program) -> list[SavedSink]:
    """The sinks with pending output that a job does not have, and that no sink of the job replaces."""
    claimed = {*program.sink_uids, *(getattr(sink, "stands_in_for", "") for sink in program.sinks)}
    return [sink for sink in manifest.sinks if sink.uid not in claimed and has_memory(sink)]


def _new_part(part: str, uid: str, kind: str) -> PartCheck:
    return PartCheck(part, uid, "-", kind, NEW)


def _incompatible_part(part: str, uid: str, kinds: tuple[str, str], error: CheckpointError) -> PartCheck:
    return PartCheck(part, uid, *kinds, INCOMPATIBLE, error.text, error.code)


def _dropped_part(part: str, uid: str, kind: str) -> PartCheck:
    uid = uid.removesuffix(UNUSED)
    text = f"The job has no {part} '{uid}'. Set the old uid for the {part}, or start with --allow-dropped-state."
    return PartCheck(part, uid, kind, "-", DROPPED, text)
