"""How a job's program was started, so that it can be started again: by `penstock rescale`, from a savepoint."""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from penstock.config import FROM_SAVEPOINT, RESUME, given_options
from penstock.pyflink import installed
from penstock.redaction import redacted_command

_OF_ONE_RUN = (FROM_SAVEPOINT.key, RESUME.key)


class Launch(msgspec.Struct, frozen=True):
    """A program with its arguments, options and folder. The environment's variables are not kept: they may hold secrets."""

    script: str
    args: list[str]
    folder: str
    options: dict[str, Any] = {}
    pyflink: bool = False
    python: str = ""

    def command(self, options: dict[str, Any], flags: list[str]) -> list[str]:
        """The command that runs it as `penstock run` does, with other options beside its own.

        >>> Launch("job.py", ["--fast"], "/jobs", {"a": 1}, python="python").command({"b": 2}, [])
        ['python', '-m', 'penstock', 'run', '-D', 'a=1', '-D', 'b=2', 'job.py', '--', '--fast']
        """
        given = [part for key, value in {**self.options, **options}.items() for part in ("-D", f"{key}={_text(value)}")]
        flags = [*flags, *(["--pyflink"] if self.pyflink else [])]
        return [self.python or sys.executable, "-m", "penstock", "run", *flags, *given, self.script, "--", *self.args]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def this_launch() -> Launch | None:
    """How this program was started; None: by hand (a shell, a notebook), or with secrets, which are not written down."""
    script, args = (sys.argv[0], sys.argv[1:]) if sys.argv else ("", [])
    if not os.path.isfile(script) or not script.endswith(".py"):
        return None
    options = {key: value for key, value in given_options().items() if key not in _OF_ONE_RUN}
    words = [*args, *(part for key, value in options.items() for part in ("-D", f"{key}={value}"))]
    if redacted_command(words) != words:
        return None
    return Launch(os.path.abspath(script), args, os.getcwd(), options, installed(), sys.executable)
