"""Brings the user's modules, packages, archives and jars to where functions run."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.errors import ConfigError

_PACKAGES = "penstock-packages"


def ship(session: SparkSession, files: dict[str, list[str]]) -> list[str]:
    """Ships everything; gives the names of archives that workers must put on their path."""
    context = session.sparkContext
    for path in [*user_modules(), *files["files"]]:
        context.addPyFile(_as_file(path))
    for archive in files["archives"]:
        context.addArchive(archive)
    for jar in files["jars"]:
        context._jsc.addJar(jar)
    if not files["requirements"]:
        return []
    context.addArchive(f"{_installed(*files['requirements'])}#{_PACKAGES}")
    return [_PACKAGES]


def user_modules() -> list[str]:
    """Modules that the program imported from beside its own file: executors would not find them."""
    main = getattr(sys.modules["__main__"], "__file__", None)
    if main is None:
        return []
    home = os.path.dirname(os.path.abspath(main))
    elsewhere = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    found = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name == "__main__" or not file or not file.startswith(home + os.sep) or file.startswith(elsewhere):
            continue
        top = name.split(".")[0]
        for candidate in (os.path.join(home, top), os.path.join(home, f"{top}.py")):
            if os.path.exists(candidate) and top != "penstock":
                found.add(candidate)
    return sorted(found)


def _as_file(path: str) -> str:
    """A folder becomes a zip with the folder's name in it."""
    if not os.path.isdir(path):
        return path
    target = Path(tempfile.mkdtemp(prefix="penstock-ship-"), f"{os.path.basename(path)}.zip")
    with zipfile.ZipFile(target, "w") as packed:
        for file in sorted(Path(path).rglob("*")):
            if "__pycache__" not in file.parts:  # folders too: without them packages without __init__.py are not found
                packed.write(file, os.path.join(os.path.basename(path), file.relative_to(path)))
    return str(target)


def _installed(requirements: str, cache: str | None = None) -> str:
    """An archive of the packages of a requirements file, made once per content."""
    digest = hashlib.sha256(Path(requirements).read_bytes()).hexdigest()[:16]
    archive = Path(tempfile.gettempdir(), "penstock-packages", f"{digest}.zip")
    if archive.exists():
        return str(archive)
    folder = tempfile.mkdtemp(prefix="penstock-packages-")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "-r", requirements]
    if cache is not None:
        command += ["--no-index", "--find-links", cache]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(
            "REQUIREMENTS",
            f"The packages of {requirements} cannot be installed: {done.stderr.strip()[-800:]} Correct the file.",
        )
    archive.parent.mkdir(exist_ok=True)
    made = shutil.make_archive(os.path.join(folder, "packed"), "zip", folder)
    os.replace(made, archive)
    shutil.rmtree(folder, ignore_errors=True)
    return str(archive)
