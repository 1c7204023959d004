"""CREATE, ALTER and DROP MATERIALIZED TABLE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from penstock.cli.sql import messages
from penstock.cli.sql.materialized.table_job import TableJob
from penstock.cli.sql.output import Output
from penstock.cli.sql.record import SessionRecord
from penstock.errors import JobError, PenstockError, SqlValidationError
from penstock.jobs.registry.entry import JobEntry
from penstock.table.catalog.definition import functions_of
from penstock.table.catalog.errors import DAMAGED, refusal
from penstock.table.catalog.table import CatalogTable
from penstock.table.dialect.statements import alter_table as actions
from penstock.table.dialect.statements.create_table import CreateMaterializedTable
from penstock.table.dialect.statements.drop import Drop
from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.statement import Statement
from penstock.table.environment.dispatch import place_errors
from penstock.table.environment.session import Session
from penstock.table.environment.statements.freshness import freshness
from penstock.table.environment.statements.materialized import (
    Found,
    changed_query,
    defined,
    find_materialized,
    resume_options,
    table_folder,
)
from penstock.table.environment.statements.table_drafts import options_of


def is_of_materialized_table(statement: Statement) -> bool:
    """Whether a statement starts or stops the job of a materialized table."""
    return (
        isinstance(statement, CreateMaterializedTable)
        or (isinstance(statement, actions.AlterTable) and statement.materialized)
        or (isinstance(statement, Drop) and statement.object_type == "MATERIALIZED TABLE")
    )


class MaterializedTables:
    """Runs the statements of one session. The record is what the jobs need of the session."""

    def __init__(self, session: Session, record: SessionRecord, output: Output, program: Path) -> None:
        self._session = session
        self._record = record
        self._output = output
        self._program = program

    def execute(self, statement: Statement, text: str) -> None:
        """Runs one statement."""
        with place_errors(statement, text), functions_of(self._session):
            match statement:
                case CreateMaterializedTable():
                    self._create(statement, text)
                case Drop():
                    self._drop(statement)
                case actions.SuspendTable():
                    self._suspend(find_materialized(self._session, statement.name))
                case actions.ResumeTable():
                    self._resume(find_materialized(self._session, statement.name), statement)
                case actions.ChangeTableQuery():
                    self._change_query(
                        find_materialized(self._session, statement.name), statement, statement.query, text
                    )
                case actions.SetFreshness():
                    self._set_freshness(find_materialized(self._session, statement.name), statement, text)
                case actions.AlterTable():
                    find_materialized(self._session, statement.name)
                    raise _refused(statement)

    # -- CREATE and DROP

    def _create(self, statement: CreateMaterializedTable, text: str) -> None:
        session, path = self._session, self._session.catalogs.path(statement.name.parts)
        if statement.or_alter and session.catalogs.is_materialized(path):
            self._change_query(find_materialized(session, statement.name), statement, statement.query, text)
            return
        session.catalogs.may_create(path, temporary=False, if_not_exists=False)
        table = defined(session, statement, path, text)
        assert table.refresh is not None
        found = Found(path, table, table.refresh, table_folder(session, path, statement.name))
        job = self._job(found)
        job.prepare(self._record.script(""))
        session.catalogs.create(path, table)
        try:
            self._started(found, job.start())
        except BaseException:  # a job that cannot start leaves no table
            session.catalogs.catalog(path[0]).drop_table(path[1], path[2])
            job.remove()
            raise

    def _drop(self, statement: Drop) -> None:
        session, path = self._session, self._session.catalogs.path(statement.name.parts)
        try:
            if session.catalogs.find_permanent(path) is None and statement.if_exists:
                self._output.info(messages.SUCCEEDED)
                return
            found = find_materialized(session, statement.name)
        except SqlValidationError as error:
            if error.code != DAMAGED:
                raise
            raise refusal(
                error.code, f"{error.text} It says which job has to be stopped, so it must be repaired first."
            ) from error
        self._job(found).remove()
        session.catalogs.catalog(path[0]).drop_table(path[1], path[2])
        self._output.info(messages.SUCCEEDED)

    # -- SUSPEND and RESUME

    def _suspend(self, found: Found) -> None:
        if found.refresh.suspended:
            raise refusal("SQL_MATERIALIZED", f"The materialized table '{found.path[2]}' is suspended already.")
        self._stopped(found)
        self._output.info(messages.SUCCEEDED)

    def _stopped(self, found: Found) -> Found:
        """Stops the job with a savepoint. A job that has ended continues later from its last batch, which needs none."""
        job = self._job(found)
        entry = job.running()
        savepoint = found.refresh.savepoint if entry is None else job.suspend(entry)
        found = self._stored(found, suspended=True, savepoint=savepoint)
        job.forget_savepoints(savepoint)
        return found

    def _resume(self, found: Found, statement: actions.ResumeTable) -> None:
        entry = self._job(found).running()
        if entry is not None:
            raise refusal(
                "SQL_MATERIALIZED", f"The materialized table '{found.path[2]}' is not suspended: job {entry.id} runs."
            )
        found = self._stored(found, options=resume_options(found, options_of(statement.options)))
        self._started(found, self._job(found).start())

    # -- changes

    def _change_query(self, found: Found, statement: Statement, query: Query, text: str) -> None:
        name = getattr(statement, "name")  # noqa: B009
        table = changed_query(self._session, found, query, text, name)
        if isinstance(statement, CreateMaterializedTable) and statement.freshness is not None:
            assert table.refresh is not None
            millis = freshness(self._session, statement.freshness, text)
            table = msgspec.structs.replace(table, refresh=msgspec.structs.replace(table.refresh, freshness=millis))
        if not found.refresh.savepoint and (last := self._job(found).last_run()) is not None and last.is_over:
            # The job has ended without SUSPEND. Its checkpoint is resumed by the same query only, but is as good as a savepoint.
            found = self._stored(found, savepoint=last.checkpoint)
        with self._restarting(found, table) as (changed, job):
            job.prepare(self._record.script(""))
            if not changed.refresh.suspended:
                self._started(changed, job.start())
            else:
                self._output.info(messages.SUCCEEDED)

    def _set_freshness(self, found: Found, statement: actions.SetFreshness, text: str) -> None:
        refresh = msgspec.structs.replace(found.refresh, freshness=freshness(self._session, statement.freshness, text))
        with self._restarting(found, msgspec.structs.replace(found.table, refresh=refresh)) as (changed, job):
            if not changed.refresh.suspended:
                self._started(changed, job.start())
            else:
                self._output.info(messages.SUCCEEDED)

    @contextmanager
    def _restarting(self, found: Found, table: CatalogTable) -> Iterator[tuple[Found, TableJob]]:
        """Stops the job and stores a changed definition. If the block fails, the old definition runs again."""
        was_suspended = found.refresh.suspended
        scripts = {name: _contents(Path(found.folder, name)) for name in ("refresh.sql", "launch.json")}
        stopped = found if was_suspended else self._stopped(found)
        assert table.refresh is not None
        refresh = msgspec.structs.replace(table.refresh, suspended=was_suspended, savepoint=stopped.refresh.savepoint)
        changed = self._put(found, msgspec.structs.replace(table, refresh=refresh))
        try:
            yield changed, self._job(changed)
        except PenstockError as error:
            for name, data in scripts.items():
                Path(found.folder, name).write_bytes(data)
            old = self._put(found, msgspec.structs.replace(found.table, refresh=stopped.refresh))
            if was_suspended:
                raise
            entry = self._job(old).start()
            self._stored(old, suspended=False, savepoint="", job=entry.id)
            raise JobError(
                error.code,
                f"{error.text}\nThe materialized table is unchanged, and job {entry.id} continues. For a result of "
                "the new query from the beginning, drop the table and create it again.",
            ) from error

    # -- definitions

    def _job(self, found: Found) -> TableJob:
        return TableJob(found, self._program)

    def _started(self, found: Found, entry: JobEntry) -> None:
        self._stored(found, suspended=False, savepoint="", job=entry.id)
        self._output.info(f"{messages.SUBMITTED}\nJob ID: {entry.id}\n")

    def _stored(self, found: Found, **changes: object) -> Found:
        refresh = msgspec.structs.replace(found.refresh, **changes)
        return self._put(found, msgspec.structs.replace(found.table, refresh=refresh))

    def _put(self, found: Found, table: CatalogTable) -> Found:
        self._session.catalogs.replace(found.path, table)
        assert table.refresh is not None
        return Found(found.path, table, table.refresh, found.folder)


def _contents(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""


def _refused(statement: actions.AlterTable) -> SqlValidationError:
    """The error for a change that is not supported."""
    if isinstance(statement, actions.RefreshTable):
        reason = "REFRESH is not supported: the job keeps the table up to date within its FRESHNESS, which SET FRESHNESS changes."
    elif isinstance(statement, actions.SetRefreshMode):
        reason = "SET REFRESH_MODE is not supported: the mode is always CONTINUOUS."
    else:
        reason = (
            f"{statement.statement_kind()} is not supported: the columns of a materialized table are those of its query. ALTER "
            "MATERIALIZED TABLE ... AS adds columns; for other changes drop the table and create it again."
        )
    return refusal("SQL_MATERIALIZED", reason)
