"""A small disk that can be filled: a file system in memory that only this process and its children see."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_INSIDE = "PENSTOCK_CHAOS_NAMESPACE"


def enter_namespace() -> bool:
    """Restarts this program in its own mount namespace. Returns False if the system does not allow it."""
    if _INSIDE in os.environ:
        return True
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        return False
    # sys.argv does not contain the name of a module that was started with -m.
    return os.execvpe("unshare", ["unshare", "-rm", sys.executable, *sys.orig_argv[1:]], {**os.environ, _INSIDE: "1"})


class SmallDisk:
    """A file system with a size limit in megabytes."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self._filler = folder / "filler"
        folder.mkdir(parents=True)
        mounted = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
        subprocess.run(mounted, check=True)

    def fill(self) -> None:
        """Fills the disk completely."""
        with open(self._filler, "ab", buffering=0) as file, suppress(OSError):
            while file.write(b"\0" * (1 << 20)):
                pass

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=False)
