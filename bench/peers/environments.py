"""Creates a separate Python environment for each system, once, in the user's cache folder."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from penstock.folders import cache_folder

PACKAGES = {
    "flink": ("apache-flink==2.3.0",),
    "bytewax": ("bytewax==0.21.1", "confluent-kafka", "orjson"),
    "pathway": ("pathway==0.33.0",),
    "quix": ("quixstreams==3.28.1",),
}
_COMPLETE = "installed"  # an empty file, written last


def python_of(peer: str) -> str:
    """Returns the interpreter for the script of a system. Penstock and plain PySpark use the interpreter of the benchmark."""
    packages = PACKAGES.get(peer)
    if packages is None:
        return sys.executable
    contents = " ".join(packages) + f" python {sys.version_info[0]}.{sys.version_info[1]}"
    folder = cache_folder() / "peers" / f"{peer}-{hashlib.sha256(contents.encode()).hexdigest()[:8]}"
    python = folder / "bin" / "python"
    if not (folder / _COMPLETE).exists():
        _create(folder, python, packages)
    return str(python)


def _create(folder: Path, python: Path, packages: tuple[str, ...]) -> None:
    print(f"Installing {' '.join(packages)} into {folder}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    # Some packages, such as Flink's, need setuptools for their build, and a new environment does not have it.
    subprocess.run([python, "-m", "pip", "install", "--quiet", "setuptools<80", "wheel"], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    (folder / _COMPLETE).touch()
