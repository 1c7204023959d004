"""Writes small files in one step, so that other processes never read a partly written file."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomic(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    durable: bool,
    staging_folder: str | os.PathLike[str] | None = None,
) -> None:
    """Writes a temporary file and renames it to `path`, replacing an existing file.

    With `durable`, the data is on the disk when the call returns. The temporary file is created in `staging_folder`, which must
    be on the same file system; by default it is the folder of `path`. Set it when other processes list that folder.
    An `OSError` always has a `filename`, so that the user sees which disk failed.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "offsets.json")
    >>> write_atomic(file, b"{}", durable=True); file.read_bytes()
    b'{}'
    """
    target = Path(path)
    temporary = Path(staging_folder or target.parent, f".{target.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is None:  # "no space left on device" does not name the file
            error.filename = str(target)
        raise
