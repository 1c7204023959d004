"""The processes on the driver's machine in which Spark plans the batches of sources.

Spark reports the end of such a process as a broken connection, without its name. Each process therefore leaves a file while
it runs. A file of a process that no longer exists means that the process was killed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from penstock.atomic_file import write_atomic
from penstock.jobs.registry.process import ProcessId, this_process


class HelperProcess(msgspec.Struct, frozen=True):
    """One process and its task."""

    task: str  # completes "the process that ..."
    process: ProcessId


class HelperProcesses:
    """The helper processes of a run, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, name: str, task: str) -> None:
        """Registers the calling process."""
        self._folder.mkdir(exist_ok=True)
        data = msgspec.json.encode(HelperProcess(task, this_process()))
        write_atomic(self._folder / name, data, durable=False)

    def end(self, name: str) -> None:
        """Removes the calling process, which ends as Spark has asked it to."""
        try:
            if self._read(self._folder / name).process == this_process():
                (self._folder / name).unlink(missing_ok=True)
        except OSError:  # the run has ended, and its folder is removed
            return

    def all(self) -> list[HelperProcess]:
        """Returns the processes that were not asked to end."""
        found = []
        for file in sorted(self._folder.glob("[!.]*")):
            with suppress(OSError):  # it has just ended
                found.append(self._read(file))
        return found

    def killed(self) -> list[HelperProcess]:
        """Returns the processes that no longer exist and were not asked to end."""
        gone = [helper for helper in self.all() if not helper.process.is_alive()]
        remaining = self.all()  # a process removes its file before it ends
        return [helper for helper in gone if helper in remaining]

    def clear(self) -> None:
        """Removes all files before an attempt."""
        for file in self._folder.glob("*"):
            file.unlink(missing_ok=True)

    @staticmethod
    def _read(file: Path) -> HelperProcess:
        return msgspec.json.decode(file.read_bytes(), type=HelperProcess)
