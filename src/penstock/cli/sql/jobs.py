"""Jobs in the client: INSERT starts them, SHOW JOBS lists them, STOP JOB ends them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from penstock.cli.sql import messages
from penstock.cli.sql.client_options import ClientOptions
from penstock.cli.sql.output import Output
from penstock.datastream.jobs.job_client import JobClient
from penstock.jobs.actions.jobs import find_job, list_jobs
from penstock.jobs.actions.savepoint import take_savepoint
from penstock.jobs.actions.stop import stop_job
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.registry import Registry, registry_of
from penstock.table.dialect.statements.session import StopJob
from penstock.table.dialect.statements.statement import Statement
from penstock.table.environment.answer import Answer, ok, table_answer
from penstock.table.environment.dispatch import execute_parsed
from penstock.table.environment.session import Session
from penstock.types.logical.kinds import STRING, LogicalType, TimestampType

_STATUS = {"lost": "FAILED", "cancelled": "CANCELED"}  # Flink's names, where they differ
_SHOWN = 100
_COLUMNS: list[tuple[str, LogicalType]] = [
    ("job id", STRING),
    ("job name", STRING),
    ("status", STRING),
    ("start time", TimestampType(3, local=True)),
]


class JobStatement(NamedTuple):
    """A statement that starts a job. `text` is its own text, and `script` is the text that it was parsed from."""

    statement: Statement
    text: str
    script: str


class Jobs(Protocol):
    """Starts the jobs of INSERT statements."""

    def start(self, session: Session, insert: JobStatement, options: ClientOptions, output: Output) -> None:
        """Starts the job of a statement."""
        ...


class InProcessJobs:
    """Jobs that run in the background of this process. `wait` returns when all of them have ended."""

    def __init__(self) -> None:
        self._running: list[JobClient] = []

    @property
    def running(self) -> int:
        """How many jobs have not ended."""
        return sum(not client.get_job_execution_result().done() for client in self._running)

    def start(self, session: Session, insert: JobStatement, options: ClientOptions, output: Output) -> None:
        output.info(messages.SUBMITTING)
        answer = execute_parsed(session, insert.statement, insert.script)
        client = answer.job_client
        if client is None:
            output.info(messages.SUCCEEDED)
        elif options.sync:
            _wait(client)
            output.info(messages.COMPLETED)
        else:
            self._running.append(client)
            output.info(f"{messages.SUBMITTED}\nJob ID: {client.get_job_id()}\n")

    def wait(self) -> None:
        """Waits for all jobs. Raises the error of the first one that failed, after all have ended."""
        failed: Exception | None = None
        for client in self._running:
            try:
                client.get_job_execution_result().result()
            except Exception as error:
                failed = failed or error
        self._running.clear()
        if failed is not None:
            raise failed


def _wait(client: JobClient) -> None:
    """Waits for the end of a job. Ctrl-C cancels it."""
    result = client.get_job_execution_result()
    try:
        result.result()
    except KeyboardInterrupt:
        if not result.done():
            client.cancel().result()
        raise


def show_jobs(registry: Registry | None = None) -> Answer:
    """SHOW JOBS: the newest jobs of this machine, with Flink's columns."""
    return table_answer(_COLUMNS, [_row(job.entry) for job in list_jobs(registry or registry_of(), limit=_SHOWN)])


def describe_job(name: str, registry: Registry | None = None) -> Answer:
    """DESCRIBE JOB '...': one job with the columns of SHOW JOBS."""
    found = find_job(registry or registry_of(), name)
    return table_answer(_COLUMNS, [_row(found.entry)])


def stop(statement: StopJob, registry: Registry | None = None) -> Answer:
    """STOP JOB '...' [WITH SAVEPOINT [WITH DRAIN]]. With a savepoint, the answer is its path."""
    registry = registry or registry_of()
    entry = registry.find_running(statement.job, "stop")
    if statement.savepoint:
        taken = take_savepoint(registry, entry, then="drain" if statement.drain else "stop")
        return table_answer([("savepoint path", STRING)], [[taken.path]])
    stop_job(registry, entry)
    return ok()


def _row(entry: JobEntry) -> list[object]:
    status = entry.current_status()
    started = datetime.fromtimestamp(entry.started, UTC)
    return [entry.id, entry.name, _STATUS.get(status, status.upper()), started]
