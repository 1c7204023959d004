"""What the runs of a fork share: the savepoint, the range of input, and where each of them writes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import cloudpickle
import msgspec

from penstock.connectors.secret import secrets_may_travel
from penstock.connectors.source import Source
from penstock.errors import PlanError
from penstock.jobs.whole_file import write_whole
from penstock.plan.graph import JobGraph
from penstock.runtime.call_site import CallSite
from penstock.savepoints import Savepoint, open_savepoint
from penstock.whatif.redirected import Redirected
from penstock.whatif.replayed_source import SourceRange, planned_range


class ForkPlan(msgspec.Struct):
    """A file that the processes of a fork read; the first run adds the range of input to it."""

    savepoint: str
    folder: str
    redirect: bool = True
    drain: bool = False  # fire all timers at the end
    append: bool = False  # of a replay: also into sinks that only append
    allow_dropped: bool = False
    records: int | None = None
    until: str = ""  # a later savepoint
    ranges: dict[str, SourceRange] | None = None

    def write(self, file: Path) -> None:
        write_whole(file, msgspec.json.encode(self))


class RunFacts(msgspec.Struct):
    """What a run of a fork leaves behind."""

    redirected: list[Redirected] = []
    checkpoint: str = ""
    job_id: str = ""


def read_plan(file: str) -> ForkPlan:
    return msgspec.json.decode(Path(file).read_bytes(), type=ForkPlan)


def ranges_of(plan: ForkPlan, graph: JobGraph) -> dict[str, SourceRange]:
    """The range of every source of a job, fixed by the job that asks first."""
    savepoint = open_savepoint(plan.savepoint)
    saved = {s.uid: s.position for s in savepoint.manifest.sources}
    until = open_savepoint(plan.until) if plan.until else None
    found: dict[str, SourceRange] = {}
    with tempfile.TemporaryDirectory(prefix="penstock-fork-") as folder:
        for node in graph.sources:
            if node.source.native:
                raise PlanError(
                    "FORK_SOURCE",
                    f"Source '{node.name}' is a streaming DataFrame, which Spark reads by itself: its range cannot be fixed. "
                    "Use a source of Penstock's own.",
                )
            with secrets_may_travel():
                source: Source = cloudpickle.loads(cloudpickle.dumps(node.source))  # planning changes it
            try:
                found[node.uid] = _range(source, saved.get(node.uid), node.uid, f"{folder}/{len(found)}", plan, until)
            except Exception as error:
                raise CallSite(node.name, node.uid, None, "Source").error(error) from error
    return found


def _range(source: Source, saved: Any, uid: str, folder: str, plan: ForkPlan, until: Savepoint | None) -> SourceRange:
    Path(folder).mkdir()
    if until is None:
        return planned_range(source, saved, folder, plan.records)
    end = {s.uid: s.position for s in until.manifest.sources}.get(uid)
    if end is None:
        raise PlanError(
            "FORK_UNTIL",
            f"The savepoint {until.path} says nothing of source '{uid}': the end of its range is not known.",
        )
    source.attach(folder)
    last = source.restored(end)  # first: what it knows then has the beginning in it
    position = source.position(last)
    first = source.initial() if saved is None else {**source.restored(saved)}
    source.restored(position)
    return SourceRange(position, [first, last])


def missing(ranges: dict[str, SourceRange], graph: JobGraph) -> list[str]:
    """Sources of a job that the range says nothing of."""
    return [node.uid for node in graph.sources if node.uid not in ranges]
