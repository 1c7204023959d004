"""Files that the program adds for its functions: modules, requirements and archives."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext
from pathlib import Path

from penstock.engine.host.function_variables import function_variables
from penstock.errors import ConfigError
from penstock.folders import private_folder, remove_private_folder
from penstock.jobs.run.requirements import installed_packages


class UserFiles:
    """The files of one job. Modules and requirements can be imported from now on; `in_use` is where functions run."""

    def __init__(self, files: Mapping[str, Sequence[str]], python: str = "") -> None:
        packages = _package_folder(*files["requirements"]) if files.get("requirements") else ""
        self._variables = function_variables(python, packages)
        _put_in_front([packages] if packages else [])
        _put_in_front([_importable(path) for path in files.get("files", [])])
        self._folder: Path | None = None  # that of the extracted archives, in which functions run, as in Flink
        if files.get("archives"):
            self._folder = private_folder("archives")
            for archive in files["archives"]:
                path, _, name = archive.partition("#")
                _extract(path, self._folder / (name or os.path.basename(path)))

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Functions that run in this context have the environment variables and the working folder that they have in Flink."""
        before = {name: os.environ.get(name) for name in self._variables}
        os.environ.update(self._variables)
        try:
            with chdir(self._folder) if self._folder is not None else nullcontext():
                yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    def remove(self) -> None:
        """Removes the extracted archives."""
        if self._folder is not None:
            remove_private_folder(self._folder)


@functools.cache
def _package_folder(requirements: str, cache: str | None = None) -> str:
    """Installs requirements to a folder that is on the import path until this process ends."""
    folder = private_folder("functions")
    atexit.register(remove_private_folder, folder)
    _extract(installed_packages(requirements, cache), folder)
    return str(folder)


def _importable(path: str) -> str:
    return os.path.abspath(path if path.endswith((".zip", ".egg")) else os.path.dirname(path))


def _put_in_front(folders: Sequence[str]) -> None:
    """Puts folders on the import path, behind the folder of the program. A file that is added later comes first, as in Flink."""
    for folder in folders:
        if folder in sys.path[1:]:
            sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.insert(1, folder)


def _extract(archive: str, folder: Path) -> None:
    try:
        if zipfile.is_zipfile(archive):
            shutil.unpack_archive(archive, folder, "zip")
        else:
            shutil.unpack_archive(archive, folder)
    except (OSError, shutil.ReadError) as error:
        raise ConfigError(
            "PYTHON_ARCHIVE",
            f"The archive {archive} cannot be extracted: {error}. Supported are zip, tar, tar.gz, tgz, tar.bz2 and tar.xz.",
        ) from error
