"""The plan that the runs of a fork share: the savepoint, the range of input, and the output folder."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec

from penstock.atomic_file import write_atomic
from penstock.connectors.source import Source
from penstock.engine.program.pickling import copy_by_value
from penstock.errors import PlanError
from penstock.plan.graph import JobGraph
from penstock.runtime.loop.call_site import CallSite
from penstock.savepoints import Savepoint, open_savepoint
from penstock.whatif.redirected_sinks import RedirectedSink
from penstock.whatif.replayed_source import SourceRange, plan_range

RUN_FILE = "run.json"  # written by each run


class ForkPlan(msgspec.Struct):
    """The plan of a fork or replay, stored in a file. The first run adds the range of input."""

    savepoint: str
    folder: str
    redirect: bool = True  # write the output of sinks to files
    drain: bool = False  # fire all timers at the end
    append: bool = False  # allow sinks that only append, in a replay
    allow_dropped: bool = False
    records: int | None = None  # maximum records per source
    until: str = ""  # a later savepoint, whose positions end the range
    ranges: dict[str, SourceRange] | None = None

    def write(self, file: Path) -> None:
        write_atomic(file, msgspec.json.encode(self), durable=False)


class ForkRun(msgspec.Struct):
    """The result of one run."""

    redirected: list[RedirectedSink] = []
    checkpoint: str = ""
    job_id: str = ""


def read_plan(file: str) -> ForkPlan:
    return msgspec.json.decode(Path(file).read_bytes(), type=ForkPlan)


def plan_ranges(plan: ForkPlan, graph: JobGraph) -> dict[str, SourceRange]:
    """Determines the range of each source of a job."""
    savepoint = open_savepoint(plan.savepoint)
    saved = {s.uid: s.position for s in savepoint.manifest.sources}
    until = open_savepoint(plan.until) if plan.until else None
    ranges: dict[str, SourceRange] = {}
    with tempfile.TemporaryDirectory(prefix="penstock-fork-") as folder:
        for node in graph.sources:
            if node.source.native:
                raise PlanError(
                    "FORK_SOURCE",
                    f"Source '{node.name}' is a streaming DataFrame, which Spark reads itself, so its range cannot be fixed. "
                    "Use a source of Penstock.",
                )
            source: Source = copy_by_value(node.source)  # planning modifies the source
            try:
                ranges[node.uid] = _range(source, saved.get(node.uid), node.uid, f"{folder}/{len(ranges)}", plan, until)
            except Exception as error:
                raise CallSite(node.name, node.uid, None, "Source").error(error) from error
    return ranges


def _range(source: Source, saved: Any, uid: str, folder: str, plan: ForkPlan, until: Savepoint | None) -> SourceRange:
    Path(folder).mkdir()
    if until is None:
        return plan_range(source, saved, folder, plan.records)
    end = {s.uid: s.position for s in until.manifest.sources}.get(uid)
    if end is None:
        raise PlanError(
            "FORK_UNTIL",
            f"The savepoint {until.path} has no position of source '{uid}', so the end of its range is unknown.",
        )
    source.attach(folder)
    last = source.restored(end)  # restored first, because it then also knows the start of the range
    position = source.position(last)
    first = source.initial() if saved is None else {**source.restored(saved)}
    source.restored(position)
    return SourceRange(position, [first, last])


def sources_without_range(ranges: dict[str, SourceRange], graph: JobGraph) -> list[str]:
    """The uids of sources of a job that have no range."""
    return [node.uid for node in graph.sources if node.uid not in ranges]
