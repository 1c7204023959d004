"""Starts a script or the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.cli.sql.script_command import ScriptRun
from penstock.cli.sql.script_file import has_secret, keep_script
from penstock.cli.sql.script_program import program_arguments


def start_script(
    execute: str,
    file: Path | None,
    init: list[Path],
    options: dict[str, Any],
    session_options: dict[str, str],
    output_format: str,
    verbose: bool,
) -> None:
    """Runs the statements of a text or a file."""
    if file is None and has_secret(execute):
        file = keep_script(execute)  # the arguments of a program are stored with its jobs, and other users may see them
    arguments = program_arguments(
        execute=execute, file=file, init=init, options=session_options, output_format=output_format
    )
    ScriptRun(verbose).run(arguments, options)


def start_client(init: list[Path], options: dict[str, Any], session_options: dict[str, str], verbose: bool) -> None:
    """Opens the prompt."""
    from penstock.cli.sql.prompt.prompt import run_prompt

    run_prompt(init, options, session_options, verbose)
