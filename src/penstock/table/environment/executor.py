"""What runs queries. The environment only binds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from penstock.datastream.jobs.closeable_iterator import CloseableIterator
from penstock.datastream.jobs.job_client import JobClient
from penstock.row import Row
from penstock.runtime.relational.changes import Changes
from penstock.table.relations import Relation, Sink

if TYPE_CHECKING:
    from penstock.datastream import DataStream
    from penstock.table.environment.session import Session


class QueryExecutor(Protocol):
    """Runs relations that the binder made."""

    def collect(self, relation: Relation) -> CloseableIterator[Row]:
        """Runs a query and returns its changes while it runs. The iterator may have an attribute `job_client`."""
        ...

    def collect_columns(self, relation: Relation) -> Iterator[Changes]:
        """Runs a query and returns its changes as columns while it runs."""
        ...

    def insert(self, sinks: Sequence[Sink], job_name: str) -> JobClient:
        """Starts one job that writes to all sinks."""
        ...

    def plan(self, sinks: Sequence[Sink]) -> list[Sink]:
        """Returns sinks as they are executed, for a stored plan."""
        ...

    def attach(self, sinks: Sequence[Sink]) -> None:
        """Adds the nodes that write to sinks to the environment, without running them."""
        ...

    def to_data_stream(self, relation: Relation) -> DataStream[Row]:
        """Returns the rows of a query that only adds rows as a stream."""
        ...

    def to_changelog_stream(self, relation: Relation, upsert: bool = False) -> DataStream[Row]:
        """Returns the changes of a query as a stream. upsert: without the rows before updates."""
        ...

    def explain(self, relations: Sequence[Relation], details: tuple[str, ...]) -> str:
        """Returns the plan as text."""
        ...


def load_executor(session: Session) -> QueryExecutor:
    """Creates the executor. It is imported here, so that statements about the catalog need no engine.

    Without a DataStream environment of the program, each job gets one of its own with the settings of now. That of the program gets
    the options of jobs that were set in the table environment, as in Flink.
    """
    from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
    from penstock.table.execution import StreamExecutor
    from penstock.table.lower.settings import QuerySettings

    def settings() -> QuerySettings:
        config = session.config
        return QuerySettings(
            options=config.values(),
            zone=config.get_local_timezone(),
            database=session.catalogs.current_database or "",
            batch_mode=not session.streaming,
        )

    env = session.stream_environment
    if env is None:
        env = StreamExecutionEnvironment.get_execution_environment(session.config.job_configuration())
        if not session.streaming:
            env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    else:
        known = env.configuration.to_dict()
        for key, value in session.config.set_job_options().items():
            if known.get(key) != value:
                env.configuration.set(key, value)
    return StreamExecutor(env, settings)
