"""Runs a script as a program. `penstock sql -e` and `-f` run it, and `penstock resume` runs it again."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from penstock.cli.render.error_exit import describe_error
from penstock.cli.sql.client import SqlClient
from penstock.cli.sql.jobs import InProcessJobs
from penstock.cli.sql.materialized.refresh import refresh_table
from penstock.cli.sql.output import Output
from penstock.cli.sql.record import SessionRecord
from penstock.cli.sql.results.formats import output_of
from penstock.cli.sql.script_file import read_script
from penstock.cli.sql.session import new_session
from penstock.cli.sql.warning_lines import short_warnings
from penstock.errors import PenstockError

FORMATS = ("text", "json", "csv")


def main(arguments: list[str]) -> None:
    """Runs the scripts of a command line: init scripts first, then the files and texts in their order."""
    found = _parser().parse_args(arguments)
    output = output_of(found.format)
    scripts = [read_script(Path(file)) for file in found.init]
    if found.file:
        sys.path.insert(0, str(Path(found.file).resolve().parent))  # for the modules of Python functions
        scripts.append(read_script(Path(found.file)))
    else:
        sys.path.insert(0, os.getcwd())
        scripts.append(found.execute)
    if found.materialized_table:
        sys.path.insert(0, os.getcwd())  # that of the session in which the table was created
    with short_warnings():
        run_scripts(scripts, dict(found.options), output, tuple(found.materialized_table))


def run_scripts(
    scripts: list[str], options: dict[str, str], output: Output, materialized_table: tuple[str, ...] = ()
) -> None:
    """Runs scripts in one session and waits for the jobs that they start, also after an error.

    materialized_table: the path of a table whose job runs after the scripts.
    """
    jobs = InProcessJobs()
    client = SqlClient(new_session(options), output, jobs, SessionRecord(options))
    try:
        for script in scripts:
            if not client.run_script(script):
                break
        if materialized_table:
            refresh_table(client.session, materialized_table)
    except PenstockError as error:
        if not jobs.running:
            raise
        report = describe_error(error)
        print(f"penstock: [{report.code}] {report.message}", file=sys.stderr)
        print("penstock: The script has ended. Its jobs continue; Ctrl-C stops them.", file=sys.stderr)
        jobs.wait()
        raise SystemExit(1) from None
    jobs.wait()


def program_arguments(
    *, execute: str = "", file: Path | None = None, init: list[Path], options: dict[str, str], output_format: str
) -> list[str]:
    """The arguments of the program. Files have absolute paths, because the program may run again in another folder.

    >>> program_arguments(execute="SHOW TABLES", init=[], options={"table.dml-sync": "true"}, output_format="json")
    ['--format', 'json', '-D', 'table.dml-sync=true', '-e', 'SHOW TABLES']
    """
    arguments = [] if output_format == "text" else ["--format", output_format]
    for key, value in options.items():
        arguments += ["-D", f"{key}={value}"]
    for path in init:
        arguments += ["-i", str(path.resolve())]
    return [*arguments, *(["-f", str(file.resolve())] if file is not None else ["-e", execute])]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock sql")
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument("-D", dest="options", action="append", default=[], type=lambda text: text.split("=", 1))
    parser.add_argument("-i", dest="init", action="append", default=[])
    parser.add_argument("-f", dest="file", default="")
    parser.add_argument("-e", dest="execute", default="")
    parser.add_argument("--materialized-table", nargs=3, default=())
    return parser
