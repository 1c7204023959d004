"""`penstock sql`: the SQL client."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.arguments import AllowDropped, FromSavepoint, Master, Rebuild, Settings
from penstock.cli.render.error_exit import error_exit
from penstock.cli.run.settings import parse_settings, run_options
from penstock.cli.sql.parse_file import print_parsed
from penstock.errors import ConfigError

_SESSION_KEYS = ("table.", "sql-client.")  # set in the session; all others are options of jobs


def sql(
    execute: Annotated[
        str | None,
        typer.Option("--execute", "-e", metavar="SQL", help="Execute these statements, separated by semicolons."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Execute the statements of a file.")
    ] = None,
    init: Annotated[
        list[Path] | None,
        typer.Option("--init", "-i", metavar="FILE", help="Execute the statements of this file first."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help='Print rows as JSON lines, with the kind of the change under "op".')
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print rows as CSV.")] = False,
    local: Annotated[
        bool, typer.Option("--local", help="Run in this process, without Spark and Java (execution.engine: local).")
    ] = False,
    from_savepoint: FromSavepoint = None,
    allow_dropped_state: AllowDropped = False,
    rebuild: Rebuild = False,
    master: Master = None,
    settings: Settings = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show Spark's own output, and errors with their stack traces.")
    ] = False,
    parse: Annotated[
        Path | None,
        typer.Option(
            "--parse",
            metavar="FILE",
            help="Parse a script without running it, and print one JSON object per statement: its kind, or the error.",
        ),
    ] = None,
) -> None:
    """Execute SQL statements, or open the SQL client.

    Without -e and -f, statements are typed at a prompt, or read from stdin if that is not a terminal. A script ends at its first
    error, and when all jobs that its INSERT statements have started have ended. Ctrl-C stops them.

    Exit codes: 0 finished, 1 a statement failed, 2 wrong arguments, 130 interrupted by Ctrl-C.
    """
    if parse is not None:
        with error_exit():
            print_parsed(parse)
        return
    _check_arguments(execute, file, as_json, as_csv, local, master)
    from penstock.cli.sql.start import start_client, start_script  # the imports of engines and prompts take a while

    with error_exit():
        options, session_options = split_settings(settings or [], master=master, verbose=verbose, local=local)
        options |= run_options(
            [], from_savepoint=from_savepoint, allow_dropped_state=allow_dropped_state, rebuild=rebuild
        )
        if execute is None and file is None:
            if sys.stdin.isatty():
                start_client(init or [], options, session_options, verbose)
                return
            execute = sys.stdin.read()
            if not execute.strip():
                raise ConfigError(
                    "SQL_NO_SCRIPT",
                    "penstock sql got no statements. Pass them with -e or -f, or start it in a terminal.",
                )
        output_format = "json" if as_json else "csv" if as_csv else "text"
        start_script(execute or "", file, init or [], options, session_options, output_format, verbose)


def _check_arguments(
    execute: str | None, file: Path | None, as_json: bool, as_csv: bool, local: bool, master: str | None
) -> None:
    if execute is not None and file is not None:
        raise typer.BadParameter("-e has statements, and -f names a file with statements. Omit one of them.")
    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other. Omit one of them.")
    if local and master is not None:
        raise typer.BadParameter(
            "--local runs the job without Spark, and --master selects a Spark master. Omit one of them."
        )


def split_settings(
    settings: list[str], *, master: str | None = None, verbose: bool = False, local: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    """The options of jobs, and those of the session, which SET changes.

    >>> split_settings(["table.dml-sync=true", "parallelism.default=2"], local=True)
    ({'parallelism.default': '2', 'execution.engine': 'local'}, {'table.dml-sync': 'true'})
    """
    own = {key: str(value) for key, value in parse_settings(settings).items() if key.startswith(_SESSION_KEYS)}
    others = [setting for setting in settings if not setting.strip().startswith(_SESSION_KEYS)]
    return run_options(others, master=master, verbose=verbose, local=local), own
