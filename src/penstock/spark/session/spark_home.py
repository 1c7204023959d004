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
from contextlib import contextmanager
from pathlib import Path

import pyspark

from penstock.folders import cache_folder

_ZIP = Path("python", "lib", "pyspark.zip")


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


def _linked_home() -> Path | None:
    """The folder with links; None if it cannot be created or is not needed."""
    installed = Path(pyspark.__file__).resolve().parent
    if not (installed / _ZIP).exists() or not (installed / "jars").is_dir():
        return None
    name = hashlib.sha256(str(installed).encode()).hexdigest()[:12]
    cache = cache_folder()
    home = cache / f"spark-home-{pyspark.__version__}-{name}"
    if home.is_dir():
        return home
    try:
        cache.mkdir(parents=True, exist_ok=True)
        created = Path(tempfile.mkdtemp(dir=cache, prefix=".spark-home-"))
        for entry in installed.iterdir():
            if entry.name in ("bin", "sbin", "jars", "conf", "licenses", "data"):
                (created / entry.name).symlink_to(entry)
        try:
            created.rename(home)
        except OSError:  # another process has created it
            shutil.rmtree(created, ignore_errors=True)
        return home if home.is_dir() else None
    except OSError:
        return None
