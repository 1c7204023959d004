"""The prompt, typed through a pipe instead of a terminal."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from penstock.cli.sql import detached_jobs
from penstock.cli.sql.client import SqlClient
from penstock.cli.sql.detached_jobs import DetachedJobs
from penstock.cli.sql.prompt.prompt import Prompt, history_file
from penstock.cli.sql.prompt.screen import Screen
from penstock.cli.sql.record import SessionRecord
from penstock.cli.sql.session import new_session
from penstock.cli.sql.started_job import started_job
from penstock.errors import JobError
from penstock.jobs.actions.start import StartedProgram
from penstock.jobs.registry.entry import Failure, JobEntry
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.process import this_process
from penstock.table.catalog.file import FileCatalog
from penstock.table.environment.session import Session

ENTER, CTRL_C, CTRL_D, UP = "\r", "\x03", "\x04", "\x1b[A"
TABLES = (
    "CREATE TABLE a (n INT) WITH ('connector' = 'datagen')",
    "CREATE TABLE b (n INT) WITH ('connector' = 'blackhole')",
)


class Typed:
    """A client whose prompt reads a text. `output` is what was shown."""

    def __init__(self, session: Session | None = None) -> None:
        self.console = Console(file=io.StringIO(), width=100, height=30)
        self.record = SessionRecord({"table.local-time-zone": "UTC"})
        self.client = SqlClient(
            session or new_session({}), Screen(self.console), DetachedJobs(self.record, {}), self.record
        )
        self.history = InMemoryHistory()

    def type(self, text: str) -> str:
        with create_pipe_input() as pipe:
            pipe.send_text(text + CTRL_D)
            Prompt(self.client, Screen(self.console), self.history, input=pipe, output=DummyOutput()).run()
        return self.output

    @property
    def output(self) -> str:
        text: str = self.console.file.getvalue()  # type: ignore[attr-defined]
        return text


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_statement_may_have_several_lines() -> None:
    typed = Typed()
    shown = typed.type(f"SHOW{ENTER}CURRENT{ENTER}CATALOG;{ENTER}")
    assert "|      default_catalog |" in shown
    assert typed.history.get_strings() == ["SHOW\nCURRENT\nCATALOG;"]


def test_errors_do_not_end_the_client() -> None:
    shown = Typed().type(f"SELECT nope FROM missing;{ENTER}SELEC;{ENTER}SHOW TABLES;{ENTER}")
    assert "[ERROR] Could not execute SQL statement. Reason:\n[SQL_TABLE] There is no table or view 'missing'" in shown
    assert "[SQL_SYNTAX] Line 1, column 1: found 'SELEC'" in shown
    assert shown.endswith("Empty set\n")


def test_quit_ends_it_and_ctrl_c_drops_a_line() -> None:
    shown = Typed().type(f"SELECT{CTRL_C}SHOW TABLES;{ENTER}QUIT{ENTER}SHOW VIEWS;{ENTER}")
    assert shown == "Empty set\n"


def test_options_change_how_results_are_shown() -> None:
    typed = Typed()
    typed.type(f"SET 'sql-client.execution.result-mode' = 'changelog';{ENTER}")
    modes = [typed.client.options.result_mode]
    typed.type(f"RESET;{ENTER}")
    modes.append(typed.client.options.result_mode)
    assert modes == ["changelog", "table"]


def test_ctrl_c_returns_to_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = Typed()

    def interrupted(*_: Any) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(typed.client, "execute", interrupted)
    assert typed.type(f"SELECT 1;{ENTER}") == "[INFO] The query was cancelled.\n"


def test_the_history_is_in_the_state_folder(home: Path) -> None:
    history = history_file()
    assert isinstance(history, FileHistory)
    history.append_string("SHOW TABLES;")
    assert (home / "sql" / "history").read_text(encoding="utf-8").endswith("+SHOW TABLES;\n")


# -- INSERT


def entry(**changed: Any) -> JobEntry:
    values: dict[str, Any] = {"id": "f" * 32, "name": "job", "program": "", "master": "", "checkpoint": ""}
    return JobEntry(process=this_process(), **{**values, "status": "running", **changed})


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[Launch]:
    found: list[Launch] = []

    def start(_: Any, launch: Launch) -> StartedProgram:
        found.append(launch)
        return StartedProgram([], 1, "", entry(), None)

    monkeypatch.setattr(detached_jobs, "start_program", start)
    return found


def script_of(launch: Launch) -> str:
    assert launch.args[0] == "-f"
    return Path(launch.args[1]).read_text(encoding="utf-8")


def test_insert_starts_a_process_with_the_statements_of_the_session(launches: list[Launch], home: Path) -> None:
    shown = Typed().type(f"{TABLES[0]}; {TABLES[1]};{ENTER}SHOW TABLES;{ENTER}INSERT INTO b SELECT n FROM a;{ENTER}")
    assert "[INFO] Submitting SQL update statement to the cluster...\n" in shown
    assert f"successfully submitted to the cluster:\nJob ID: {'f' * 32}\n" in shown
    (launch,) = launches
    assert (launch.folder, launch.detached) == (str(home), True)
    assert script_of(launch) == (
        f"SET 'table.local-time-zone' = 'UTC';\n{TABLES[0]};\n{TABLES[1]};\nINSERT INTO b SELECT n FROM a;\n"
    )


def test_an_insert_with_an_error_starts_nothing(launches: list[Launch]) -> None:
    shown = Typed().type(f"{TABLES[1]};{ENTER}INSERT INTO b SELECT nope FROM b;{ENTER}")
    assert "[SQL_COLUMN] Column 'nope' not found" in shown
    assert launches == []


def test_a_statement_set_is_typed_line_by_line(launches: list[Launch]) -> None:
    inserts = f"INSERT INTO b VALUES (1);{ENTER}INSERT INTO b VALUES (2);{ENTER}"
    Typed().type(f"{TABLES[1]};{ENTER}BEGIN STATEMENT SET;{ENTER}{inserts}END;{ENTER}")
    (launch,) = launches
    assert script_of(launch).endswith(
        "EXECUTE STATEMENT SET BEGIN\nINSERT INTO b VALUES (1);\nINSERT INTO b VALUES (2);\nEND;\n"
    )


def test_later_jobs_know_a_table_that_was_created_from_a_query(launches: list[Launch]) -> None:
    create = "CREATE TABLE c WITH ('connector' = 'blackhole') AS SELECT 1 AS n"
    shown = Typed().type(f"{create};{ENTER}INSERT INTO c VALUES (2);{ENTER}SHOW TABLES;{ENTER}")
    first, second = map(script_of, launches)
    assert first.endswith(f"{create};\n")
    assert "AS SELECT" not in second
    assert "CREATE TABLE `default_catalog`.`default_database`.`c`" in second
    assert "|          c |" in shown


def test_a_job_finds_the_tables_of_a_persistent_catalog(launches: list[Launch], home: Path) -> None:
    catalog = f"CREATE CATALOG k WITH ('type' = 'file', 'path' = '{home}/k'); USE CATALOG k"
    create = "CREATE TABLE c WITH ('connector' = 'blackhole') AS SELECT 1 AS n"
    Typed().type(f"{catalog};{ENTER}{TABLES[1]};{ENTER}INSERT INTO b VALUES (1);{ENTER}{create};{ENTER}")
    first, second = map(script_of, launches)
    assert first.endswith("USE CATALOG k;\nINSERT INTO b VALUES (1);\n")
    assert second.endswith(f"USE CATALOG k;\n{create};\n")
    assert "c" not in FileCatalog(home / "k").tables("default")  # the job creates it


def test_a_job_that_does_not_start(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    log = home / "log"
    log.write_text("penstock: [X] It broke.\n", encoding="utf-8")
    for started in (
        StartedProgram([], 1, str(log), None, 1),
        StartedProgram([], 1, "", entry(status="failed", error=Failure("X", "It broke.")), 1),
    ):
        monkeypatch.setattr(detached_jobs, "start_program", lambda *_, found=started: found)
        assert "It broke." in Typed().type(f"{TABLES[1]};{ENTER}INSERT INTO b VALUES (1);{ENTER}")
        create = "CREATE TABLE c WITH ('connector' = 'blackhole') AS SELECT 1 AS n"
        assert Typed().type(f"{create};{ENTER}SHOW TABLES;{ENTER}").endswith("Empty set\n")
        with pytest.raises(JobError):
            started_job(started)
