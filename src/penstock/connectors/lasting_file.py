"""Small files that sources and sinks keep in the checkpoint: replaced as a whole, and on the disk when the call returns."""

from __future__ import annotations

import os


def write_lasting(file: str | os.PathLike[str], data: bytes) -> None:
    """Puts data into a file in one step. An error names the file, so that it is known which disk is at fault.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "ends.json")
    >>> write_lasting(file, b"{}"); file.read_bytes()
    b'{}'
    """
    fresh = f"{os.fspath(file)}.new"
    try:
        with open(fresh, "wb") as new:
            new.write(data)
            new.flush()
            os.fsync(new.fileno())
        os.replace(fresh, file)
    except OSError as error:
        if error.filename is None:  # a write that finds no room does not say where
            error.filename = os.fspath(file)
        raise
