"""The settings of workers for the functions of one job: import path, working folder and environment variables."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass

from pyspark import SparkFiles

from penstock import pyflink

_PYTHON_VARIABLE = "python"  # Flink's name of the variable that contains the interpreter of functions
_started_in: list[str] = []  # the working folder of this worker before a job changed it


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker sets before it runs functions of a job. A worker may run tasks of several jobs in turn."""

    packages: tuple[str, ...] = ()  # names of shipped archives that are put on the import path
    has_archives: bool = False  # functions run in the folder of the shipped archives, as in Flink
    python: str = ""  # the interpreter that the job chose
    folders: tuple[str, ...] = ()  # of the driver's import path; workers on the driver machine use them too
    as_pyflink: bool = False

    def prepare_imports(self) -> None:
        """Extends the import path, so that the program can be unpickled."""
        for folder in self.folders:
            if folder not in sys.path and os.path.isdir(folder):
                sys.path.append(folder)
        if self.as_pyflink:  # the user's modules may import it
            pyflink.install()
        for name in self.packages:
            path = SparkFiles.get(name)
            if path not in sys.path:
                sys.path.append(path)

    def activate(self) -> None:
        """Sets the working folder and the environment variables for the next functions."""
        if self.python:
            os.environ[_PYTHON_VARIABLE] = self.python
        if self.has_archives:
            if not _started_in:
                _started_in.append(os.getcwd())
            os.chdir(SparkFiles.getRootDirectory())
        elif _started_in:
            os.chdir(_started_in.pop())


def program_folders() -> tuple[str, ...]:
    """The folders of the import path that belong to the program: its own folder, and those that it added."""
    installed = [os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values())]
    main = getattr(sys.modules["__main__"], "__file__", None)
    own = [os.path.dirname(os.path.abspath(main))] if main else []
    added = [os.path.abspath(path) for path in sys.path if path and os.path.isdir(path)]
    return tuple(dict.fromkeys([*own, *(path for path in added if not _is_below(os.path.realpath(path), installed))]))


def _is_below(path: str, folders: list[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)
