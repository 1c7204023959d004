"""The control source: says which run this is and which splits are known, idle or ended; ends bounded jobs.

Its offset is logged by Spark before a batch runs, so a replay hears the same words. It moves only when something has to be
said or a timer is due (time.md 2.3, 2.8, 7.2).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from penstock.connectors.scripted import ScriptedSource, Step
from penstock.engine.frames import SINKS, Bundle, Bundles, Control, Save
from penstock.spark.failure import carrying
from penstock.spark.pickling import unpickle_program
from penstock.spark.processor import ROW_SCHEMA
from penstock.spark.run_folder import RunFolder
from penstock.spark.sources import to_arrow
from penstock.spark.store_trouble import check_reachable

Offset = dict[str, Any]


class ControlReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Decides, batch by batch, whether there is something to say."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder: RunFolder | None = folder
        _key, data = folder.program()
        program = unpickle_program(data)
        self._facts = folder.facts()
        self._parallelism = program.parallelism
        self._depth = program.depth
        self._levels = program.control_levels() or ([0] if program.depth == 0 else [])
        self._sources = [s.source for s in program.sources]
        self._script = next((s.steps for s in self._sources if isinstance(s, ScriptedSource) and s.lockstep), None)
        self._finished = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_folder": None, "_sources": [], "_script": None}

    def initialOffset(self) -> Offset:
        offset: Offset = {"n": 0, "run": "", "clock": None, "known": {}, "ended": {}, "end": False}
        return {**offset, **self._facts["offsets"].get("control", {})}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Jobs end by this source's own word."""

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        with carrying():
            check_reachable(self._facts["checkpoint"])
            if start["end"]:
                self._finish(start)
                return start
            return self._scripted(start) if self._script is not None else self._decided(start)

    def _finish(self, start: Offset) -> None:
        """The last word was planned before and is committed by now: the job may stop."""
        if not self._finished:
            assert self._folder is not None
            saving = self._folder.savepoint_asked()
            if saving is not None and saving.id == start.get("saved"):
                return  # its files are being written
            self._folder.tell_finished(start["n"])
            self._finished = True

    def _scripted(self, start: Offset) -> Offset:
        """One step per batch, as the scripted source takes them."""
        assert self._script is not None
        assert self._folder is not None
        number = start["n"]
        saving = self._folder.savepoint_asked()
        saved = {"saved": saving.id} if saving is not None and start.get("saved") != saving.id else {}
        if number >= len(self._script):
            if saved:
                return self._moved(start, **saved)
            if self._facts.get("keep_open"):
                self._finish(start)
                return start
            return self._moved(start, clock=start["clock"], end=True)
        step: Step = self._script[number]
        known = {str(i): list(s.known) for i, s in enumerate(self._sources) if isinstance(s, ScriptedSource)}
        ended = {str(i): list(step.ended) for i in range(len(self._sources))} if step.ended else {}
        scripted = start["run"] if start["run"].isdigit() else self._facts["run"]  # a run that the script named goes on
        run = scripted if step.run is None else str(step.run)
        return self._moved(
            start,
            run=run,
            clock=step.clock if step.clock is not None else start["clock"] or 0,
            known=known,
            ended=ended,
            end=step.end,
            **saved,
        )

    def _decided(self, start: Offset) -> Offset:
        assert self._folder is not None
        asked = self._folder.stop_asked()
        if asked is not None and not asked["drain"]:
            return start
        saving = self._folder.savepoint_asked()
        if saving is not None and saving.end and start.get("saved") == saving.id:
            return start  # the savepoint's batch was the last
        save = saving is not None and start.get("saved") != saving.id
        known, ended = dict(start["known"]), dict(start["ended"])
        for number, source in enumerate(self._sources):
            told = self._folder.source(number)
            if told is None:
                told = {"splits": source.first_splits(), "ended": []}
            _add(known, str(number), told["splits"])
            _add(ended, str(number), told["ended"])
        everything = all(set(known.get(str(i), ())) <= set(ended.get(str(i), ())) for i in range(len(self._sources)))
        bounded = all(s.bounded or s.stops for s in self._sources)
        end = (bounded and everything) or bool(asked and asked["drain"])
        end = end or (saving is not None and saving.end == "drain")
        new = start["run"] != self._facts["run"] or known != start["known"] or ended != start["ended"] or end
        resting = bool(self._facts.get("paced")) and self._folder.resting()
        if new or save or (self._due() and not resting):
            saved = {"saved": saving.id} if save and saving is not None else {}
            return self._moved(start, run=self._facts["run"], known=known, ended=ended, end=end, **saved)
        return start

    def _due(self) -> bool:
        """Whether a timer, an idle timeout or the heartbeat wants a batch."""
        assert self._folder is not None
        report = self._folder.report()
        if report is None:
            return False
        now = int(time.time() * 1000)
        beat = self._facts.get("heartbeat") or 0
        return (report["wake"] is not None and report["wake"] <= now) or bool(beat and report["now"] + beat <= now)

    @staticmethod
    def _moved(start: Offset, **changes: Any) -> Offset:
        return {**start, "n": start["n"] + 1, **changes}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return [InputPartition((end, self._save(start, end)))]

    def _save(self, start: Offset, end: Offset) -> Save | None:
        """The savepoint of a batch. When a batch of an earlier process runs again, nobody waits for its savepoint."""
        assert self._folder is not None
        asked = self._folder.savepoint_asked()
        if asked is None or end.get("saved") != asked.id or start.get("saved") == asked.id:
            return None
        return Save(asked.id, asked.folder)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from to_arrow(self._bundles(*partition.value), self._parallelism)

    def _bundles(self, offset: Offset, save: Save | None = None) -> Iterator[Bundle]:
        control = Control(
            offset["run"], offset["clock"], _by_source(offset["known"]), _by_source(offset["ended"]), offset["end"]
        )
        out = Bundles()
        for level in self._levels:
            for slot in range(self._parallelism if level else 1):
                out.add(level, slot, control)
        if save is not None:
            for level in range(1, self._depth + 1):
                for slot in range(self._parallelism):
                    out.add(-level, slot, save)
            out.add(SINKS, 0, save)
        return out.take_all()

    def commit(self, end: Offset) -> None:
        """Offsets are Spark's to keep."""


def _add(table: dict[str, list[str]], key: str, names: list[str]) -> None:
    if names:
        table[key] = sorted({*table.get(key, ()), *names})


def _by_source(table: dict[str, list[str]]) -> dict[int, list[str]]:
    return {int(k): v for k, v in table.items()}


class PenstockControl(DataSource):
    """Option: `folder` of the run."""

    @classmethod
    def name(cls) -> str:
        return "penstock_control"

    def schema(self) -> str:
        return ROW_SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return ControlReader(RunFolder(self.options["folder"]))
