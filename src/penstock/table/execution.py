"""Runs queries: relations become a job of the DataStream layer, which Spark or the local engine executes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from penstock.atomic_file import write_atomic
from penstock.datastream.environment import StreamExecutionEnvironment
from penstock.datastream.jobs.closeable_iterator import CloseableIterator
from penstock.datastream.jobs.job_client import JobClient
from penstock.datastream.streams.data_stream import DataStream
from penstock.errors import PlanError
from penstock.row import Row
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.steps.frames import changes_of
from penstock.table.lower.graph import GraphBuilder
from penstock.table.lower.lowering import Lowering
from penstock.table.lower.settings import QuerySettings
from penstock.table.lower.sink import collect_columns_node, collect_node, sink_node, stream_node
from penstock.table.passes import apply_passes
from penstock.table.plans.named_operators import with_ids
from penstock.table.plans.stored_plan import PLANNED
from penstock.table.relations import Relation, Sink

PICTURE = "table.explain.picture"  # EXPLAIN also writes an SVG image to this file


class StreamExecutor:
    """Executes relations in an environment. `settings` returns the current settings of the session."""

    def __init__(self, env: StreamExecutionEnvironment, settings: Callable[[], QuerySettings]) -> None:
        self._env = env
        self._settings = settings

    def collect(self, relation: Relation, job_name: str | None = None) -> CloseableIterator[Row]:
        """Starts a job and returns its rows with their kinds."""
        node = collect_node(apply_passes(relation), self._lowering())
        return CloseableIterator(self._env.collect(node, job_name or "collect"))

    def collect_columns(self, relation: Relation, job_name: str | None = None) -> Iterator[Changes]:
        """Starts a job and returns its changes as columns."""
        node = collect_columns_node(apply_passes(relation), self._lowering())
        return (changes_of(frame) for frame in self._env.collect(node, job_name or "collect"))

    def insert(self, sinks: Sequence[Sink], job_name: str | None = None) -> JobClient:
        """Starts one job that writes to all sinks."""
        self.attach(sinks)
        return self._env.execute_async(job_name or f"insert-into_{','.join('.'.join(s.path) for s in sinks)}")

    def attach(self, sinks: Sequence[Sink]) -> None:
        """Adds the nodes that write to sinks, without running them."""
        lowering = self._lowering()
        for sink in sinks:
            sink_node(_with_passes(sink), lowering)

    def plan(self, sinks: Sequence[Sink]) -> list[Sink]:
        """Returns sinks after all passes, with the ids of their operators. They run as they are, also in later versions."""
        planned = [_with_passes(sink) for sink in sinks]
        lowering = Lowering(GraphBuilder(StreamExecutionEnvironment()), self._settings())
        for sink in planned:
            sink_node(sink, lowering)
        return with_ids(planned, lowering.graph.ids)

    def to_data_stream(self, relation: Relation) -> DataStream[Row]:
        """Returns the rows of an insert-only table as a stream. Its rowtime becomes the timestamps of the elements."""
        relation = apply_passes(relation)
        lowering = self._lowering()
        changelog = lowering.changelog(relation)
        if not changelog.insert_only:
            raise PlanError(
                "SQL_CHANGELOG",
                f"to_data_stream() takes a table without updates and deletes, but this one has [{changelog.kinds()}]. Use "
                "to_changelog_stream().",
            )
        return DataStream(self._env, stream_node(relation, lowering))

    def to_changelog_stream(self, relation: Relation, upsert: bool = False) -> DataStream[Row]:
        """Returns the changes of a table as a stream of rows with kinds. upsert: without the rows before updates."""
        return DataStream(self._env, stream_node(apply_passes(relation), self._lowering(), upsert=upsert))

    def explain(self, relations: Sequence[Relation], details: tuple[str, ...] = ()) -> str:
        """Returns the plan of relations as text."""
        from penstock.table.explain.text import explain  # not needed by jobs

        lowering = self._lowering()
        plans = [_with_passes(r) if isinstance(r, Sink) else apply_passes(r) for r in relations]
        picture = lowering.settings.options.get(PICTURE)
        if picture:
            from penstock.table.explain.picture import plan_picture

            write_atomic(picture, plan_picture(plans, lowering).encode(), durable=False)
        return explain(plans, lowering, details)

    def _lowering(self) -> Lowering:
        settings = self._settings()
        if settings.batch_mode:
            settings = settings.at(time.time_ns() // 1_000_000)
        return Lowering(GraphBuilder(self._env), settings)


def _with_passes(sink: Sink) -> Sink:
    if any(name == PLANNED for name, _ in sink.hints):
        return sink  # of a stored plan
    found = apply_passes(sink)
    assert isinstance(found, Sink)
    return found
