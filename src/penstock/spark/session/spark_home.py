"""A Spark home whose Python workers start fast.

Spark puts its zipped copy of pyspark before the installed one on the path of every Python process that it starts, and Python
compiles what it imports from a zip anew each time: half a second, a dozen times before a job's first batch is done. This
home is the installed one, linked, without that zip: the processes find the installed package with its compiled files.
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

_ZIP = Path("python", "lib", "pyspark.zip")


@contextmanager
def fast_home() -> Iterator[None]:
    """While a JVM is launched in here its home is the fast one, unless somebody chose a home."""
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
    """The folder of links; None where it cannot be made, or is not needed."""
    installed = Path(pyspark.__file__).resolve().parent
    if not (installed / _ZIP).exists() or not (installed / "jars").is_dir():
        return None
    name = hashlib.sha256(str(installed).encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "penstock")
    home = cache / f"spark-home-{pyspark.__version__}-{name}"
    if home.is_dir():
        return home
    try:
        cache.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=cache, prefix=".spark-home-"))
        for entry in installed.iterdir():
            if entry.name in ("bin", "sbin", "jars", "conf", "licenses", "data"):
                (made / entry.name).symlink_to(entry)
        try:
            made.rename(home)
        except OSError:  # another process was faster
            shutil.rmtree(made, ignore_errors=True)
        return home if home.is_dir() else None
    except OSError:
        return None
