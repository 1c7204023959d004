"""Frees the memory of libraries that a process has loaded and does not use itself. Only on Linux."""

from __future__ import annotations

import ctypes
import re
import sys

_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ (\d+)")
_DONTNEED = 4  # the system reads the page from its cache when it is needed again


def release_file_pages() -> None:
    """Removes unchanged pages of files from this process. Forked processes do not inherit such pages anyway."""
    if sys.platform != "linux":
        return
    try:
        library = ctypes.CDLL(None, use_errno=True)
        with open("/proc/self/smaps") as file:
            text = file.read()
    except OSError:
        return
    library.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    mapping: re.Match[str] | None = None
    for line in text.splitlines():
        if (found := _MAPPING.match(line)) is not None:
            mapping = found
        elif line.startswith("Anonymous:") and line.split()[1] == "0" and mapping is not None:
            start, end, rights, inode = int(mapping[1], 16), int(mapping[2], 16), mapping[3], mapping[4]
            if "w" not in rights and rights[3] == "p" and inode != "0":  # the process has not changed a page of it
                library.madvise(start, end - start, _DONTNEED)
