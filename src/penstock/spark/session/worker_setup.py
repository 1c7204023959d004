"""The settings of workers for the functions of one job: import path, working folder and environment variables."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from types import ModuleType

from pyspark import SparkFiles

from penstock import pyflink
from penstock.engine.host.function_variables import function_variables

_started_in: list[str] = []  # the working folder of this worker before a job changed it
_of_other_jobs: dict[
    str, dict[str, ModuleType]
] = {}  # modules that other jobs imported in this worker, by shipped file


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker sets before it runs functions of a job. A worker may run tasks of several jobs in turn."""

    modules: tuple[str, ...] = ()  # names of shipped zip files that are put on the import path, in their order
    requirements: str = ""  # the name of the shipped archive with installed packages
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
        self._use_modules()

    def activate(self) -> None:
        """Sets the working folder and the environment variables for the next functions."""
        self._use_modules()
        packages = SparkFiles.get(self.requirements) if self.requirements else ""
        os.environ.update(function_variables(self.python, packages))
        if self.has_archives:
            if not _started_in:
                _started_in.append(os.getcwd())
            os.chdir(SparkFiles.getRootDirectory())
        elif _started_in:
            os.chdir(_started_in.pop())

    def _use_modules(self) -> None:
        if self.modules or self.requirements:
            root = SparkFiles.getRootDirectory()
            names = [*self.modules, *([self.requirements] if self.requirements else [])]
            _use_modules(root, [os.path.join(root, name) for name in names])


def _use_modules(root: str, paths: list[str]) -> None:
    """Puts shipped files on the import path, behind the folder of the worker, and exchanges modules of another job for theirs."""
    own = tuple(path + os.sep for path in paths)
    for name, module in sys.modules.copy().items():
        file = getattr(module, "__file__", None) or ""
        if file.startswith(root + os.sep) and not file.startswith(own):
            shipped = os.path.join(root, file[len(root) + 1 :].split(os.sep)[0])
            _of_other_jobs.setdefault(shipped, {})[name] = sys.modules.pop(name)
    for path in paths:
        for name, module in _of_other_jobs.pop(path, {}).items():
            sys.modules.setdefault(name, module)
    sys.path[1:] = [*paths, *(path for path in sys.path[1:] if path not in paths)]


def program_folders() -> tuple[str, ...]:
    """The folders of the import path that belong to the program: its own folder, and those that it added."""
    installed = [os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values())]
    main = getattr(sys.modules["__main__"], "__file__", None)
    own = [os.path.dirname(os.path.abspath(main))] if main else []
    added = [os.path.abspath(path) for path in sys.path if path and os.path.isdir(path)]
    return tuple(dict.fromkeys([*own, *(path for path in added if not _is_below(os.path.realpath(path), installed))]))


def _is_below(path: str, folders: list[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)
