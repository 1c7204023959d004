"""How the program of a job was started, so that an action can start it again from a savepoint."""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from penstock.config import environment_options
from penstock.config.checkpoint_options import FROM_SAVEPOINT, RESUME
from penstock.pyflink import is_installed
from penstock.redaction import redact_command

SINGLE_RUN_OPTIONS = (FROM_SAVEPOINT.key, RESUME.key)


class Launch(msgspec.Struct, frozen=True):
    """A program with its arguments, options and working folder. Environment variables are not stored, as they may be secret."""

    script: str
    args: list[str]
    folder: str
    options: dict[str, Any] = {}
    pyflink: bool = False
    python: str = ""

    def command(self, options: dict[str, Any], flags: list[str]) -> list[str]:
        """The command line that runs the program with `penstock run`. `options` override the stored options.

        >>> Launch("job.py", ["--fast"], "/jobs", {"a": 1}, python="python").command({"b": 2}, [])
        ['python', '-m', 'penstock', 'run', '-D', 'a=1', '-D', 'b=2', 'job.py', '--', '--fast']
        """
        settings = [
            part
            for key, value in {**self.options, **options}.items()
            for part in ("-D", f"{key}={_option_text(value)}")
        ]
        flags = [*flags, *(["--pyflink"] if self.pyflink else [])]
        return [
            self.python or sys.executable,
            "-m",
            "penstock",
            "run",
            *flags,
            *settings,
            self.script,
            "--",
            *self.args,
        ]


def _option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def current_launch() -> Launch | None:
    """How this program was started.

    None in a shell or notebook, and if the command line contains secrets, which must not be stored.
    """
    script, args = (sys.argv[0], sys.argv[1:]) if sys.argv else ("", [])
    if not os.path.isfile(script) or not script.endswith(".py"):
        return None
    options = {key: value for key, value in environment_options().items() if key not in SINGLE_RUN_OPTIONS}
    arguments = [*args, *(part for key, value in options.items() for part in ("-D", f"{key}={value}"))]
    if redact_command(arguments) != arguments:
        return None
    return Launch(os.path.abspath(script), args, os.getcwd(), options, is_installed(), sys.executable)
