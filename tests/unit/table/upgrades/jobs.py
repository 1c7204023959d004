"""Runs a script on the local engine, stops it with a savepoint, and starts a changed script from it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from penstock.cli.run.captured_jobs import ENGINE_NAME, capture_jobs
from penstock.config import Configuration
from penstock.engine.program.builder import build_program
from penstock.plan.graph import JobGraph
from penstock.savepoints import open_savepoint
from penstock.savepoints.check import RestoreCheck, check_restore
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.dialect import parse_script
from penstock.table.environment.dispatch import execute_parsed
from tests.waiting import until

Table = dict[Any, int]  # rows with their counts

_SECONDS = 60  # on a busy machine
_LINE = re.compile(r"^(?:(?P<sink>\w+)> )?(?P<kind>[+-][IUD])\[(?P<row>.*)\]$")


class Runner:
    """Runs the jobs of one test in a folder, and collects what they print."""

    def __init__(self, folder: Path, capture: Any) -> None:
        self.folder = folder
        self._capture = capture
        self._text = ""
        for name in ("orders", "rates"):
            (folder / name).mkdir()

    def write(self, table: str, name: str, rows: list[dict[str, Any]]) -> None:
        """Adds a file to a table."""
        temporary = self.folder / f"{table}-{name}"
        temporary.write_text("".join(json.dumps(row) + "\n" for row in rows))
        temporary.rename(self.folder / table / name)

    def environment(self, engine: str = "local", **options: str) -> TableEnvironment:
        settings = EnvironmentSettings.new_instance().in_streaming_mode().build()
        env = TableEnvironment.create(settings)
        values = {
            "execution.engine": engine,
            "parallelism.default": "2",
            "execution.checkpointing.dir": str(self.folder / "checkpoints"),
            "execution.checkpointing.savepoint-dir": str(self.folder / "savepoints"),
            **{key.replace("_", "."): value for key, value in options.items()},
        }
        for key, value in values.items():
            env.get_config().set(key, value)
        return env

    def start(self, script: str, engine: str = "local", **options: str) -> Any:
        """Runs the statements of a script, and returns the client of its last job."""
        env, client = self.environment(engine, **options), None
        text = script.replace("$FOLDER", str(self.folder))
        for found in parse_script(text):
            assert found.statement is not None, found.error
            client = execute_parsed(env.session, found.statement, text).job_client or client
        return client

    def run(self, script: str, expected: dict[str, Table], **options: str) -> str:
        """Runs a script until its sinks have the expected tables, and returns the path of the savepoint that it stops with."""
        client = self.start(script, **options)
        try:
            until(lambda: self.tables() == expected, _SECONDS)
        except AssertionError:
            client.cancel().result()
            assert self.tables() == expected
            raise
        return str(client.stop_with_savepoint(False).result())

    def tables(self) -> dict[str, Table]:
        """Returns the tables of all sinks, from the changes that were printed."""
        self._text += self._capture.readouterr().out
        found: dict[str, Table] = {}
        for line in self._text.splitlines():
            match = _LINE.match(line)
            if match is None:
                continue
            rows = found.setdefault(match["sink"] or "", {})
            row = match["row"]
            rows[row] = rows.get(row, 0) + (1 if match["kind"] in ("+I", "+U") else -1)
        return {sink: {row: n for row, n in rows.items() if n} for sink, rows in found.items()}

    def forget(self) -> None:
        """Forgets what was printed."""
        self.tables()
        self._text = ""

    def check(self, savepoint: str, script: str) -> RestoreCheck:
        """Compares a script with a savepoint, without running it."""
        found: list[RestoreCheck] = []

        def inspect(graph: JobGraph, configuration: Configuration) -> None:
            found.append(check_restore(open_savepoint(savepoint), build_program(graph)))

        with capture_jobs(inspect):
            self.start(script, ENGINE_NAME)
        return found[-1]
