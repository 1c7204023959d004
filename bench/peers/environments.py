"""Each peer in an environment of its own: made once, below the user's cache, and used again."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from penstock.servers.jars import cache_folder

PACKAGES = {
    "flink": ("apache-flink==2.3.0",),
    "bytewax": ("bytewax==0.21.1", "confluent-kafka", "orjson"),
    "pathway": ("pathway==0.33.0",),
    "quix": ("quixstreams==3.28.1",),
}
_DONE = "installed"


def python_of(peer: str) -> str:
    """The interpreter that runs a peer's script; Penstock and plain PySpark run in ours."""
    packages = PACKAGES.get(peer)
    if packages is None:
        return sys.executable
    wanted = " ".join(packages) + f" python {sys.version_info[0]}.{sys.version_info[1]}"
    folder = cache_folder() / "peers" / f"{peer}-{hashlib.sha256(wanted.encode()).hexdigest()[:8]}"
    python = folder / "bin" / "python"
    if not (folder / _DONE).exists():
        _make(folder, python, packages)
    return str(python)


def _make(folder: Path, python: Path, packages: tuple[str, ...]) -> None:
    print(f"installing {' '.join(packages)} into {folder}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    # Older packages (Flink's among them) need setuptools to be built, and a new environment has none.
    subprocess.run([python, "-m", "pip", "install", "--quiet", "setuptools<80", "wheel"], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    (folder / _DONE).touch()
