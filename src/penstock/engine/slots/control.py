"""Decides before each batch what to announce to all slots: the run, known and ended splits, savepoints, the end of the job.

The announcement is stored before the batch runs, so a batch that is repeated gets the same one. It changes only when there is
something to announce or a batch is due without new data (time-rules 2.3, 2.8, 7.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.connectors.scripted import ScriptedSource, Step
from penstock.connectors.source import Source
from penstock.engine.wire.frames import Control

SplitsBySource = dict[int, list[str]]


class SplitStatus(msgspec.Struct):
    """The splits of a source that are known, and those of them that have ended."""

    known: list[str] = []
    ended: list[str] = []


class StopRequest(msgspec.Struct):
    """Asks a running job to stop after the current batch."""

    drain: bool  # send the final watermark first


class RequestedSavepoint(msgspec.Struct, frozen=True):
    """A savepoint that a running job has to take."""

    id: str
    folder: str
    end: str = ""  # "stop" or "drain" if the job ends with the batch of the savepoint


class ControlOffset(
    msgspec.Struct,
    frozen=True,
    rename={"number": "n", "run_id": "run", "is_final": "end", "savepoint_id": "saved"},
):
    """What a batch announces. The number grows with each announcement.

    It is stored in checkpoints and savepoints, under the renamed field names.
    """

    number: int = 0
    run_id: str = ""
    clock: int | None = None  # the manual clock of a scripted job, in milliseconds
    known: SplitsBySource = {}
    ended: SplitsBySource = {}
    is_final: bool = False  # all input has ended: the final watermark is sent
    savepoint_id: str | msgspec.UnsetType = msgspec.UNSET  # of the last savepoint that was announced

    def advance(self, **changes: Any) -> ControlOffset:
        """Returns the next offset."""
        return msgspec.structs.replace(self, number=self.number + 1, **changes)

    def to_json(self) -> dict[str, Any]:
        offset: dict[str, Any] = msgspec.to_builtins(self, str_keys=True)
        return offset

    def frame(self) -> Control:
        """Returns the frame for the slots."""
        return Control(self.run_id, self.clock, self.known, self.ended, self.is_final)


def read_offset(stored: dict[str, Any]) -> ControlOffset:
    return msgspec.convert(stored, ControlOffset, strict=False)  # JSON has the numbers of sources as strings


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known before a batch is planned."""

    splits: Mapping[int, SplitStatus]  # of the sources that have reported them, by number
    stop: StopRequest | None
    savepoint: RequestedSavepoint | None
    is_batch_due: Callable[[], bool]  # whether a timer, an idle timeout or the heartbeat needs a batch now


class ControlRules:
    """Decides what the next batch announces."""

    def __init__(self, sources: Sequence[Source], run_id: str, keep_open: bool = False) -> None:
        self._sources = sources
        self._run_id = run_id
        self._keep_open = keep_open  # a scripted job stops after its script, without the final watermark
        self._script = next((s.steps for s in sources if isinstance(s, ScriptedSource) and s.lockstep), None)

    def next(self, offset: ControlOffset, situation: Situation) -> ControlOffset | None:
        """Returns the next offset, or None if no batch is needed for control."""
        if self._script is not None:
            return self._next_step(offset, situation, self._script)
        stop, requested = situation.stop, situation.savepoint
        if _is_stopping(stop, requested, offset):
            return None
        known, ended = self._read_splits(offset, situation)
        is_final = _is_draining(stop, requested) or self._has_ended(known, ended)
        savepoint = _new_savepoint(requested, offset)
        has_news = offset.run_id != self._run_id or known != offset.known or ended != offset.ended or is_final
        if not (has_news or savepoint or situation.is_batch_due()):
            return None
        return offset.advance(run_id=self._run_id, known=known, ended=ended, is_final=is_final, **savepoint)

    def has_finished(self, offset: ControlOffset) -> bool:
        """Whether the job ends after the batch with this offset."""
        if offset.is_final:
            return True
        return self._keep_open and self._script is not None and offset.number >= len(self._script)

    # -- scripted jobs

    def _next_step(self, offset: ControlOffset, situation: Situation, script: Sequence[Step]) -> ControlOffset | None:
        """Returns the offset of the next step of the script. Each step is a batch."""
        savepoint = _new_savepoint(situation.savepoint, offset)
        if offset.number >= len(script):
            if savepoint:
                return offset.advance(**savepoint)
            return None if self._keep_open else offset.advance(is_final=True)
        step = script[offset.number]
        return offset.advance(
            run_id=self._run_of_step(step, offset),
            clock=step.clock if step.clock is not None else offset.clock or 0,
            known={i: list(s.known) for i, s in enumerate(self._sources) if isinstance(s, ScriptedSource)},
            ended={i: list(step.ended) for i in range(len(self._sources))} if step.ended else {},
            is_final=step.end,
            **savepoint,
        )

    def _run_of_step(self, step: Step, offset: ControlOffset) -> str:
        """A script names runs by numbers; a number is valid until a later step has another one."""
        if step.run is not None:
            return str(step.run)
        return offset.run_id if offset.run_id.isdigit() else self._run_id

    # -- other jobs

    def _read_splits(self, offset: ControlOffset, situation: Situation) -> tuple[SplitsBySource, SplitsBySource]:
        """Known and ended splits: those announced before, and those that sources have reported since."""
        known, ended = dict(offset.known), dict(offset.ended)
        for number, source in enumerate(self._sources):
            status = situation.splits.get(number) or SplitStatus(source.first_splits())
            _add_splits(known, number, status.known)
            _add_splits(ended, number, status.ended)
        return known, ended

    def _has_ended(self, known: SplitsBySource, ended: SplitsBySource) -> bool:
        """Whether all sources end at some time, and all their splits have ended."""
        return all(
            (source.bounded or source.stops) and set(known.get(number, ())) <= set(ended.get(number, ()))
            for number, source in enumerate(self._sources)
        )


def is_due(next_wakeup: int | None, last_batch: int, heartbeat: int, now: int) -> bool:
    """Whether a batch is needed without new data. Times are in milliseconds; a heartbeat of 0 means none.

    >>> is_due(None, 1000, 500, 1400), is_due(None, 1000, 500, 1500), is_due(1300, 1000, 0, 1400)
    (False, True, True)
    """
    if next_wakeup is not None and next_wakeup <= now:
        return True
    return bool(heartbeat) and last_batch + heartbeat <= now


def _is_stopping(stop: StopRequest | None, savepoint: RequestedSavepoint | None, offset: ControlOffset) -> bool:
    """Whether no further batch may start: the job stops, or the batch of its last savepoint was announced."""
    if stop is not None and not stop.drain:
        return True
    return savepoint is not None and bool(savepoint.end) and savepoint.id == offset.savepoint_id


def _is_draining(stop: StopRequest | None, savepoint: RequestedSavepoint | None) -> bool:
    return (stop is not None and stop.drain) or (savepoint is not None and savepoint.end == "drain")


def _new_savepoint(savepoint: RequestedSavepoint | None, offset: ControlOffset) -> dict[str, str]:
    """The change of the offset that announces a savepoint; empty if none was requested since the last batch."""
    if savepoint is None or savepoint.id == offset.savepoint_id:
        return {}
    return {"savepoint_id": savepoint.id}


def _add_splits(table: SplitsBySource, source: int, splits: list[str]) -> None:
    if splits:
        table[source] = sorted({*table.get(source, ()), *splits})
