"""Checks an LMDB file before it is opened. Reading a page that the file lacks would end the process."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

_NAME = re.compile(r"data-[0-9a-f]+")
_META = struct.Struct("=II8xQI")  # magic, version, size of the map, size of a page
_META_AT = 16  # after the header of the page
_LAST_PAGE = struct.Struct("=QQ")  # number of the last page, number of the transaction
_LAST_PAGE_AT = _META_AT + 24 + 2 * 48
_MAGIC = 0xBEEFC0DE


def current_file(folder: Path) -> Path:
    """Returns the LMDB file in use in the folder of a working copy."""
    try:
        name = (folder / "current").read_text()
    except (OSError, ValueError):
        name = ""
    return folder / (name if _NAME.fullmatch(name) else "data-0")


def is_truncated(folder: Path) -> bool:
    """Whether an LMDB file ends before its last page. A file that cannot be read, or is no LMDB file, is left to LMDB."""
    try:
        with open(folder / "data.mdb", "rb") as file:
            size = os.fstat(file.fileno()).st_size
            first = file.read(_LAST_PAGE_AT + _LAST_PAGE.size)
            if len(first) < _LAST_PAGE_AT + _LAST_PAGE.size:
                return False
            magic, _, _, page_size = _META.unpack_from(first, _META_AT)
            if magic != _MAGIC or page_size < 256:
                return False
            file.seek(page_size)
            second = file.read(len(first))
    except OSError:
        return False
    if len(second) < len(first):
        return True
    states = [_LAST_PAGE.unpack_from(page, _LAST_PAGE_AT) for page in (first, second)]
    last_page, _ = max(states, key=lambda state: state[1])
    return bool(size < (last_page + 1) * page_size)
