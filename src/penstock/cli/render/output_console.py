"""The console for the output of commands on stdout."""

from __future__ import annotations

import os

from rich.console import Console

_UNLIMITED = 10_000  # columns


def output_console() -> Console:
    """The terminal. If stdout is a file or a pipe, a console that is wide enough for any path, so that no line is broken."""
    console = Console(highlight=False)
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(highlight=False, width=_UNLIMITED)
