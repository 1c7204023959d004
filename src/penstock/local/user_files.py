"""Makes files that the program adds importable: modules, folders and archives."""

from __future__ import annotations

import os
import sys

from penstock.errors import UnsupportedOperation


def use_files(files: dict[str, list[str]]) -> None:
    """Puts the added modules and archives on the import path. Requirements must be installed already."""
    for path in files.get("files", []):
        folder = os.path.abspath(path if path.endswith((".zip", ".egg")) else os.path.dirname(path))
        if folder not in sys.path:
            sys.path.append(folder)
    if files.get("archives"):
        raise UnsupportedOperation(
            "NEEDS_SPARK",
            f"The program adds the archive {files['archives'][0]}, which Spark unpacks for its workers. The local engine has no "
            "workers: unpack it and read its files directly, or run the job on Spark.",
        )
