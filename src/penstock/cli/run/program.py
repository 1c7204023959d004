"""Runs the file of a program as `python job.py` does."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from penstock.cli.run.settings import default_options
from penstock.config.execution_options import PRINT_STYLE, WATERMARK_EMISSION
from penstock.pyflink import pyflink_modules

PYFLINK_OPTIONS = {PRINT_STYLE.key: "flink", WATERMARK_EMISSION.key: "per-batch"}  # of `penstock run --pyflink`


def run_file(job: Path, args: list[str]) -> None:
    """Runs a Python file as the main program, with its own arguments and import path."""
    argv, path = sys.argv, list(sys.path)
    sys.argv = [str(job), *args]
    sys.path.insert(0, str((job if job.is_dir() else job.parent).resolve()))
    try:
        runpy.run_path(str(job), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = argv, path


@contextmanager
def program_environment(options: dict[str, Any], pyflink: bool) -> Iterator[None]:
    """Inside the block, the options are the defaults of every environment that a program creates.

    With `pyflink`, imports of PyFlink resolve to Penstock's classes, elements are printed as Flink prints them, and watermarks
    advance periodically.
    """
    if pyflink:
        options = {**PYFLINK_OPTIONS, **options}
    with pyflink_modules() if pyflink else nullcontext(), default_options(options):
        yield
