"""Ships the user's modules, packages, archives and jars to the workers."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.errors import ConfigError
from penstock.folders import cache_folder, private_folder, remove_private_folder
from penstock.spark.session.worker_setup import WorkerSetup

_PACKAGES = "penstock-packages"


def ship_files(session: SparkSession, files: dict[str, list[str]], python: str = "") -> WorkerSetup:
    """Ships all files. Returns what workers set up for the functions. `python` is the interpreter that the job chose."""
    context = session.sparkContext
    for path in [*user_modules(), *files["files"]]:
        context.addPyFile(_zip_folder(path))
    for archive in files["archives"]:
        context.addArchive(archive)
    for jar in files["jars"]:
        context._jsc.addJar(jar)
    setup = WorkerSetup(has_archives=bool(files["archives"]), python=python)
    if not files["requirements"]:
        return setup
    context.addArchive(f"{_install(*files['requirements'])}#{_PACKAGES}")
    return replace(setup, packages=(_PACKAGES,))


def user_modules() -> list[str]:
    """Modules that the program imported from its own folder, which executors would not find."""
    main = getattr(sys.modules["__main__"], "__file__", None)
    if main is None:
        return []
    folder = os.path.dirname(os.path.abspath(main))
    installed = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    modules = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name == "__main__" or not file or not file.startswith(folder + os.sep) or file.startswith(installed):
            continue
        top = name.split(".")[0]
        for candidate in (os.path.join(folder, top), os.path.join(folder, f"{top}.py")):
            if os.path.exists(candidate) and top != "penstock":
                modules.add(candidate)
    return sorted(modules)


def _zip_folder(path: str) -> str:
    """Packs a folder into a zip file that contains the folder. Returns the path of a file unchanged."""
    if not os.path.isdir(path):
        return path
    target = Path(private_folder("ship"), f"{os.path.basename(path)}.zip")
    atexit.register(remove_private_folder, target.parent)  # executors may fetch it until then
    with zipfile.ZipFile(target, "w") as packed:
        for file in sorted(Path(path).rglob("*")):
            if "__pycache__" not in file.parts:  # folders too, because packages without __init__.py need their entries
                packed.write(file, os.path.join(os.path.basename(path), file.relative_to(path)))
    return str(target)


def _install(requirements: str, cache: str | None = None) -> str:
    """An archive of the packages in a requirements file. It is created once per content of the file."""
    digest = hashlib.sha256(Path(requirements).read_bytes()).hexdigest()[:16]
    archive = cache_folder() / "packages" / f"{digest}.zip"
    if _is_intact(archive):
        os.utime(archive)  # the cache removes what was not used for long
        return str(archive)
    folder = str(private_folder("packages"))
    try:
        return _install_into(folder, archive, requirements, cache)
    finally:
        remove_private_folder(Path(folder))


def _is_intact(archive: Path) -> bool:
    try:
        with zipfile.ZipFile(archive) as packed:
            return packed.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False


def _install_into(folder: str, archive: Path, requirements: str, cache: str | None) -> str:
    target = os.path.join(folder, "installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", target, "-r", requirements]
    if cache is not None:
        command += ["--no-index", "--find-links", cache]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise ConfigError(
            "REQUIREMENTS",
            f"The packages of {requirements} cannot be installed: {completed.stderr.strip()[-800:]} Correct the file.",
        )
    packed = shutil.make_archive(os.path.join(folder, "packed"), "zip", target)
    archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = archive.with_name(f".{archive.name}.{os.getpid()}")
    shutil.move(packed, aside)  # the cache may be on another disk
    if archive.is_dir():
        shutil.rmtree(archive)
    os.replace(aside, archive)
    return str(archive)
