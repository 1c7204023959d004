"""A savepoint at a path: its manifest and its state blocks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from penstock.connectors.file.system.file_system import FileSystem, Options, absolute_path, file_system
from penstock.errors import CheckpointError
from penstock.savepoints.manifest import MANIFEST_FILE, Manifest, damaged_error, decode_manifest, encode_manifest
from penstock.savepoints.state_file import StateBlock, StateFileReader

_BUFFER_SIZE = 4 << 20


class Savepoint:
    """A complete savepoint, which has a manifest."""

    def __init__(self, path: str, manifest: Manifest, options: Options | None = None) -> None:
        self.path = path
        self.manifest = manifest
        self.system = file_system(path, options)

    @property
    def size(self) -> int:
        """Bytes of its files, without the manifest."""
        state = sum(file.size for file in self.manifest.files)
        return state + sum(file.size for file in self.manifest.sink_files)

    def blocks(self, operator: str | None = None, state: str | None = None) -> Iterator[tuple[StateBlock, list[bytes]]]:
        """The blocks of an operator and a state (None for all) with their entries."""
        for file in self.manifest.files:
            with StateFileReader(self.system, self.path, file) as reader:
                for block in reader.blocks:
                    if operator in (None, block.operator) and state in (None, block.state):
                        yield block, reader.read(block)

    def copy_sink_files(self, system: FileSystem, path: str) -> None:
        """Copies the files of sinks to another savepoint."""
        for file in self.manifest.sink_files:
            with self.system.open(f"{self.path}/{file.name}") as source:
                target = system.create(f"{path}/{file.name}")
                shutil.copyfileobj(source, target, _BUFFER_SIZE)
                system.close(target)

    def verify(self) -> list[CheckpointError]:
        """Reads all files and returns an error for each damaged one."""
        errors = []
        for file in self.manifest.files:
            try:
                with StateFileReader(self.system, self.path, file) as reader:
                    for block in reader.blocks:
                        reader.read(block)
            except CheckpointError as error:
                errors.append(error)
        for sink_file in self.manifest.sink_files:
            status = self.system.get_status(f"{self.path}/{sink_file.name}")
            if status is None or status.size != sink_file.size:
                found = "does not exist" if status is None else f"has {status.size} bytes instead of {sink_file.size}"
                errors.append(damaged_error(self.path, f"its file {sink_file.name} {found}"))
        return errors


def open_savepoint(path: str, options: Options | None = None) -> Savepoint:
    """The savepoint at a path.

    Raises:
        CheckpointError: the path has no complete savepoint, or its manifest cannot be read.
    """
    path = absolute_path(path).rstrip("/")
    system = file_system(path, options)
    if system.get_status(f"{path}/{MANIFEST_FILE}") is None:
        raise CheckpointError(
            "NO_SAVEPOINT",
            f"{path} is not a savepoint, because it has no {MANIFEST_FILE}, which is written last. "
            "Use the path that `penstock savepoint` printed. A savepoint that was interrupted cannot be restored.",
        )
    file = system.open(f"{path}/{MANIFEST_FILE}")
    try:
        data = file.read()
    finally:
        file.close()
    return Savepoint(path, decode_manifest(data, path), options)


def publish(path: str, manifest: Manifest, options: Options | None = None) -> Savepoint:
    """Writes the manifest atomically, which completes a savepoint whose state files are written."""
    system = file_system(path, options)
    file = system.create(f"{path}/_{MANIFEST_FILE}")
    file.write(encode_manifest(manifest))
    system.close(file)
    system.publish(f"{path}/_{MANIFEST_FILE}", f"{path}/{MANIFEST_FILE}")
    return Savepoint(path, manifest, options)


def is_checkpoint(path: str) -> bool:
    """Whether a path is the checkpoint folder of a job."""
    return Path(path, "penstock", "job.json").is_file()
