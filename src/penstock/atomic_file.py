"""Writes small files in one step, so that other processes never read a partly written file."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
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
    temporary = Path(staging_folder or target.parent, f".{target.name}.{os.getpid()}-{secrets.token_hex(3)}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        _replace(temporary, target)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if error.filename is None:  # "no space left on device" does not name the file
            error.filename = str(target)
        raise


def _replace(temporary: Path, target: Path) -> None:
    try:
        os.replace(temporary, target)
    except IsADirectoryError:  # something else created it; its contents are kept
        _move_away(target)
        os.replace(temporary, target)


def _move_away(folder: Path) -> None:
    folder.rename(folder.with_name(f".{folder.name}.was-a-folder-{secrets.token_hex(3)}"))


def remove_file(path: str | os.PathLike[str]) -> None:
    """Removes a file that may be missing. A folder with its name is renamed, because it would be in the way.

    >>> remove_file("no-such-file")
    """
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError:
        if not os.path.isdir(path):
            raise
        _move_away(Path(path))  # a folder of another user can be renamed, but not emptied
