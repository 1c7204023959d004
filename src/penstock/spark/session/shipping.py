"""Ships the user's modules, packages, archives and jars to the workers."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import sysconfig
import zipfile
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.folders import private_folder, remove_private_folder
from penstock.jobs.run.requirements import installed_packages
from penstock.spark.session.worker_setup import WorkerSetup

_PACKAGES = "penstock-packages"


def ship_files(session: SparkSession, files: dict[str, list[str]], python: str = "") -> WorkerSetup:
    """Ships all files. Returns what workers set up for the functions. `python` is the interpreter that the job chose."""
    context = session.sparkContext
    shipped = [packed_file(path) for path in [*user_modules(), *files["files"]]]
    for path in shipped:
        context.addPyFile(str(path))
    for archive in files["archives"]:
        context.addArchive(archive)
    for jar in files["jars"]:
        context._jsc.addJar(jar)
    modules = tuple(dict.fromkeys(path.name for path in reversed(shipped)))  # the one that was added last comes first
    setup = WorkerSetup(modules, has_archives=bool(files["archives"]), python=python)
    if not files["requirements"]:
        return setup
    packages = Path(installed_packages(*files["requirements"]))
    name = f"{_PACKAGES}-{packages.stem}"
    context.addArchive(f"{packages}#{name}")
    return replace(setup, requirements=name)


def user_modules() -> list[str]:
    """Modules that the program imported from its own folder, which executors would not find."""
    main = getattr(sys.modules["__main__"], "__file__", None)
    if main is None:
        return []
    folder = os.path.dirname(os.path.abspath(main))
    installed = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    modules = set()
    for name, module in sys.modules.copy().items():
        file = getattr(module, "__file__", None)
        if name == "__main__" or not file or not file.startswith(folder + os.sep) or file.startswith(installed):
            continue
        top = name.split(".")[0]
        for candidate in (os.path.join(folder, top), os.path.join(folder, f"{top}.py")):
            if os.path.exists(candidate) and top != "penstock":
                modules.add(candidate)
    return sorted(modules)


def packed_file(path: str) -> Path:
    """Packs a module or a folder into a zip file; a zip file is copied.

    Its name follows from the content, because a session has all files of its jobs in one folder, and a program may run a job again
    with a changed module.
    """
    folder = private_folder("ship")
    atexit.register(remove_private_folder, folder)  # executors may fetch it until then
    source, packed = Path(path), folder / "packed"
    if source.suffix in (".zip", ".egg"):
        shutil.copyfile(source, packed)
    else:
        with zipfile.ZipFile(packed, "w") as file:
            for part in sorted(source.rglob("*")) if source.is_dir() else [source]:
                if (
                    "__pycache__" not in part.parts
                ):  # folders too, because packages without __init__.py need their entries
                    file.write(part, part.relative_to(source.parent))
    digest = hashlib.sha256(packed.read_bytes()).hexdigest()[:16]
    return packed.rename(folder / f"{source.stem}-{digest}.zip")
