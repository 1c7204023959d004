"""Executes the statements of scripts and of the prompt: those of SQL, and those that only the client knows."""

from __future__ import annotations

from penstock.cli.sql import messages
from penstock.cli.sql.client_options import ClientOptions, check_option, client_options
from penstock.cli.sql.help_text import HELP
from penstock.cli.sql.jobs import Jobs, JobStatement, describe_job, show_jobs, stop
from penstock.cli.sql.materialized.statements import MaterializedTables, is_of_materialized_table
from penstock.cli.sql.output import Output
from penstock.cli.sql.program_folder import PROGRAM
from penstock.cli.sql.record import SessionRecord, is_stored
from penstock.cli.sql.session import apply_mode, check_mode
from penstock.errors import ConfigError, SqlValidationError
from penstock.table.catalog.errors import located
from penstock.table.dialect import ScriptStatement, parse_script, parse_statement
from penstock.table.dialect.statements.create_table import CreateTableAs
from penstock.table.dialect.statements.insert import BeginStatementSet, EndStatementSet, Insert, StatementSet
from penstock.table.dialect.statements.plan import CompilePlan, Execute, ExecutePlan
from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.session import ClientCommand, ResetOption, SetOption, StopJob
from penstock.table.dialect.statements.show import Describe, Show
from penstock.table.dialect.statements.statement import Statement
from penstock.table.environment.answer import Answer
from penstock.table.environment.dispatch import execute_parsed
from penstock.table.environment.session import Session


class SqlClient:
    """One session of the client."""

    def __init__(self, session: Session, output: Output, jobs: Jobs, record: SessionRecord | None = None) -> None:
        self.session = session
        self.jobs = jobs
        self.record = record or SessionRecord()
        self._output = output
        self._materialized = MaterializedTables(session, self.record, output, PROGRAM)
        self._set: list[ScriptStatement] | None = None  # the INSERT statements after BEGIN STATEMENT SET
        self._set_text = ""

    @property
    def options(self) -> ClientOptions:
        """The current options of the client."""
        return client_options(self.session.config)

    def run_script(self, text: str) -> bool:
        """Executes the statements of a script up to the first error. Returns False after QUIT."""
        for found in parse_script(text):
            if not self.execute(found, text):
                return False
        if self._set is not None:
            self._set = None
            raise SqlValidationError(
                "SQL_STATEMENT_SET", "BEGIN STATEMENT SET has no END. Add END; behind the last INSERT."
            )
        return True

    def execute(self, found: ScriptStatement, text: str) -> bool:
        """Executes one statement of a text. Returns False if it is QUIT."""
        if found.error is not None:
            raise found.error
        statement = found.statement
        assert statement is not None
        if isinstance(statement, ClientCommand):
            return self._command(statement)
        if self._set is not None or isinstance(statement, BeginStatementSet | EndStatementSet):
            self._statement_set(statement, found, text)
        elif is_of_materialized_table(statement):
            self._materialized.execute(statement, text)
        elif starts_job(statement):
            self._start(JobStatement(statement, found.text, text))
        else:
            stored = is_stored(self.session, statement)
            self._show(self._answer(statement, text))
            if not stored:
                self.record.add(statement, found.text)
        return True

    def _command(self, command: ClientCommand) -> bool:
        if command.command == "HELP":
            self._output.text(HELP)
        elif command.command == "CLEAR":
            self._output.clear()
        return command.command not in ("QUIT", "EXIT")

    def _answer(self, statement: Statement, text: str) -> Answer:
        if isinstance(statement, Show) and statement.what == "JOBS":
            return show_jobs()
        if isinstance(statement, Describe) and statement.object_type == "JOB":
            return describe_job(statement.name.parts[-1])
        if isinstance(statement, StopJob):
            return stop(statement)
        if isinstance(statement, SetOption | ResetOption):
            return self._set_option(statement, text)
        return execute_parsed(self.session, statement, text)

    def _set_option(self, statement: SetOption | ResetOption, text: str) -> Answer:
        try:
            if isinstance(statement, SetOption) and statement.key is not None:
                check_option(statement.key, statement.value or "")
                check_mode(statement.key, statement.value or "")
            answer = execute_parsed(self.session, statement, text)
        except ConfigError as error:
            place = max(statement.line, 1), max(statement.column, 1)
            raise located(SqlValidationError(error.code, error.text, *place), text) from error
        apply_mode(self.session)
        return answer

    def _show(self, answer: Answer) -> None:
        if answer.style == "ok":
            self._output.info(messages.SUCCEEDED)
        else:
            self._output.answer(answer, self.options)

    # -- BEGIN STATEMENT SET

    def _statement_set(self, statement: Statement, found: ScriptStatement, text: str) -> None:
        if isinstance(statement, BeginStatementSet):
            if self._set is not None:
                raise SqlValidationError("SQL_STATEMENT_SET", "A statement set has begun already. End it with END.")
            self._set, self._set_text = [], text
            self._output.info(messages.SUCCEEDED)
        elif isinstance(statement, EndStatementSet):
            self._end_set()
        elif isinstance(statement, Insert) and self._set is not None:
            self._set.append(found)
            if text != self._set_text:
                self._set_text = ""  # typed at the prompt, one by one
            self._output.info(messages.SUCCEEDED)
        else:
            raise SqlValidationError(
                "SQL_STATEMENT_SET", "Between BEGIN STATEMENT SET and END, only INSERT statements are possible."
            )

    def _end_set(self) -> None:
        if self._set is None:
            raise SqlValidationError("SQL_STATEMENT_SET", "END without BEGIN STATEMENT SET.")
        members, text, self._set = self._set, self._set_text, None
        if not members:
            self._output.info(messages.SUCCEEDED)  # as in Flink: there is nothing to start
            return
        if text:
            inserts = tuple(m.statement for m in members if isinstance(m.statement, Insert))
            statement: Statement = Execute(StatementSet(inserts))
        else:
            text = "EXECUTE STATEMENT SET BEGIN\n" + "".join(f"{m.text};\n" for m in members) + "END"
            statement = parse_statement(text)
        self._start(JobStatement(statement, text, text))

    def _start(self, insert: JobStatement) -> None:
        self.jobs.start(self.session, insert, self.options, self._output)


def starts_job(statement: Statement) -> bool:
    """Whether a statement starts a job that writes to tables.

    >>> starts_job(parse_statement("INSERT INTO t SELECT 1")), starts_job(parse_statement("EXECUTE SELECT 1"))
    (True, False)
    """
    if isinstance(statement, Execute):
        return not isinstance(statement.statement, Query)
    if isinstance(statement, CompilePlan):
        return statement.execute
    return isinstance(statement, Insert | StatementSet | CreateTableAs | ExecutePlan)
