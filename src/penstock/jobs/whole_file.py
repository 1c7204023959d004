"""Small files that other processes read: replaced as a whole, never seen half written."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(file: Path, data: bytes, beside: Path | None = None) -> None:
    """Puts data into a file in one step. `beside` is where it is written first, when the file's own folder is being listed.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "fact")
    >>> write_whole(file, b"1"); file.read_bytes()
    b'1'
    """
    temporary = (beside or file.parent) / f".{file.name}.{os.getpid()}"
    try:
        temporary.write_bytes(data)
        os.replace(temporary, file)
    except OSError as error:
        if error.filename is None:  # a write that finds no room does not say where
            error.filename = str(file)
        raise
