"""INSERT at the prompt: the job runs in a process of its own and continues when the client ends."""

from __future__ import annotations

import os
from typing import Any

from penstock.cli.sql import messages
from penstock.cli.sql.client_options import ClientOptions
from penstock.cli.sql.jobs import InProcessJobs, JobStatement
from penstock.cli.sql.output import Output
from penstock.cli.sql.program_folder import PROGRAM
from penstock.cli.sql.record import SessionRecord, is_stored
from penstock.cli.sql.script_file import keep_script
from penstock.cli.sql.started_job import started_job
from penstock.config import Configuration
from penstock.jobs.actions.start import start_program
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.registry import registry_of
from penstock.table.dialect import parse_statement
from penstock.table.dialect.statements.create_table import CreateTableAs
from penstock.table.dialect.statements.insert import Insert, StatementSet
from penstock.table.dialect.statements.plan import Execute
from penstock.table.environment.dispatch import execute_parsed
from penstock.table.environment.session import Session
from penstock.table.environment.statements.create_table_as import create
from penstock.table.environment.statements.queries import insert_relation


class DetachedJobs:
    """Starts jobs in processes of their own. `options` are those of the command line."""

    def __init__(self, record: SessionRecord, options: dict[str, Any]) -> None:
        self._record = record
        self._options = options

    def start(self, session: Session, insert: JobStatement, options: ClientOptions, output: Output) -> None:
        if options.sync:
            InProcessJobs().start(session, insert, options, output)
            self._remember_table(session, insert)
            return
        output.info(messages.SUBMITTING)
        if not self._check(session, insert):
            output.info(messages.SUCCEEDED)
            return
        try:
            job_id = self._submit(self._record.script(insert.text))
        except BaseException:
            _drop_table(session, insert)
            raise
        self._remember_table(session, insert)
        output.info(f"{messages.SUBMITTED}\nJob ID: {job_id}\n")

    def _submit(self, script: str) -> str:
        launch = Launch(str(PROGRAM), ["-f", str(keep_script(script))], os.getcwd(), self._options, detached=True)
        return started_job(start_program(registry_of(Configuration(self._options)), launch)).id

    def _check(self, session: Session, insert: JobStatement) -> bool:
        """Binds the statement here, so that its errors are shown at once. Returns False if there is nothing to do."""
        statement = insert.statement
        while isinstance(statement, Execute):
            statement = statement.statement
        if isinstance(statement, CreateTableAs):
            path = session.catalogs.path(statement.name.parts)
            if not session.catalogs.may_create(path, statement.temporary, statement.if_not_exists):
                return False
            create(session, statement, path, insert.script)
            if is_stored(session, statement):
                _drop_table(session, insert)  # the job creates it, and this session finds it in the catalog
        elif isinstance(statement, Insert | StatementSet):
            inserts = statement.inserts if isinstance(statement, StatementSet) else (statement,)
            for one in inserts:
                insert_relation(session, one, insert.script)
        return True

    def _remember_table(self, session: Session, insert: JobStatement) -> None:
        """Later jobs need the table of CREATE TABLE AS, but must not write to it again."""
        if isinstance(insert.statement, CreateTableAs) and not is_stored(session, insert.statement):
            name = ".".join(f"`{part}`" for part in session.catalogs.path(insert.statement.name.parts))
            text = f"SHOW CREATE TABLE {name}"
            for row in execute_parsed(session, parse_statement(text), text).rows:
                self._record.add_text(row[0])


def _drop_table(session: Session, insert: JobStatement) -> None:
    """A job that cannot start leaves no table of CREATE TABLE AS."""
    statement = insert.statement
    if isinstance(statement, CreateTableAs):
        path = session.catalogs.path(statement.name.parts)
        session.catalogs.drop(path, view=False, temporary=statement.temporary, if_exists=True)
