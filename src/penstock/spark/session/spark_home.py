"""A Spark home folder whose Python workers start faster.

Spark puts a zip file with pyspark before the installed package on the path of every Python process that it starts. Python
compiles modules from a zip file at each import, which takes half a second per process. This folder links to the installed
Spark without the zip file, so that the processes use the installed package with its compiled modules.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from penstock.atomic_file import remove_file
from penstock.folders import cache_folder

_ZIP = Path("python", "lib", "pyspark.zip")
_LINKED = ("bin", "sbin", "jars", "conf", "licenses", "data")


@contextmanager
def linked_spark_home() -> Iterator[None]:
    """Sets SPARK_HOME to the linked folder for a JVM that is launched in the block, unless it is set already."""
    home = None if "SPARK_HOME" in os.environ else _linked_home()
    if home is None:
        yield
        return
    os.environ["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


def spark_home() -> Path | None:
    """The Spark that a JVM would be launched from; None if it cannot be found."""
    home = os.environ.get("SPARK_HOME")
    installed = Path(home) if home else Path(pyspark.__file__).resolve().parent
    return installed if (installed / "jars").is_dir() else None


def _linked_home() -> Path | None:
    """The folder with links; None if it cannot be created or is not needed."""
    installed = Path(pyspark.__file__).resolve().parent
    if not (installed / _ZIP).exists() or not (installed / "jars").is_dir():
        return None
    name = hashlib.sha256(str(installed).encode()).hexdigest()[:12]
    cache = cache_folder()
    home = cache / f"spark-home-{pyspark.__version__}-{name}"
    if _is_complete(home, installed):
        with suppress(OSError):
            os.utime(home)  # the cache removes what was not used for long
        return home
    try:
        remove_file(home)
        cache.mkdir(parents=True, exist_ok=True)
        created = Path(tempfile.mkdtemp(dir=cache, prefix=".spark-home-"))
        for entry in installed.iterdir():
            if entry.name in _LINKED:
                (created / entry.name).symlink_to(entry)
        try:
            created.rename(home)
        except OSError:  # another process has created it
            shutil.rmtree(created, ignore_errors=True)
        return home if _is_complete(home, installed) else None
    except OSError:
        return None


def _is_complete(home: Path, installed: Path) -> bool:
    """Whether all links are there. A file or folder in the place of a link makes the folder unusable."""
    try:
        names = [name for name in _LINKED if (installed / name).exists()]
        return all(os.readlink(home / name) == str(installed / name) for name in names)
    except OSError:
        return False
