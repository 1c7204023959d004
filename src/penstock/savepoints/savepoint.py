"""A savepoint on some path: its manifest and its blocks of state."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.connectors.file.system import Options, absolute, file_system
from penstock.errors import CheckpointError
from penstock.savepoints.manifest import NAME, Manifest, decode_manifest, encode_manifest
from penstock.savepoints.state_file import Block, StateFileReader


class Savepoint:
    """A savepoint that is complete: it has its manifest."""

    def __init__(self, path: str, manifest: Manifest, options: Options | None = None) -> None:
        self.path = path
        self.manifest = manifest
        self.system = file_system(path, options)

    @property
    def size(self) -> int:
        """Bytes of its files of state."""
        return sum(file.size for file in self.manifest.files)

    def blocks(self, operator: str | None = None, state: str | None = None) -> Iterator[tuple[Block, list[bytes]]]:
        """The blocks of an operator and state (None: of all), with their entries."""
        for file in self.manifest.files:
            with StateFileReader(self.system, self.path, file) as reader:
                for block in reader.blocks:
                    if operator in (None, block.operator) and state in (None, block.state):
                        yield block, reader.read(block)

    def verify(self) -> list[CheckpointError]:
        """What is damaged: reads all of it and compares the checksums."""
        found = []
        for file in self.manifest.files:
            try:
                with StateFileReader(self.system, self.path, file) as reader:
                    for block in reader.blocks:
                        reader.read(block)
            except CheckpointError as error:
                found.append(error)
        return found


def open_savepoint(path: str, options: Options | None = None) -> Savepoint:
    """The savepoint at a path; refuses what is not a complete one."""
    path = absolute(path).rstrip("/")
    system = file_system(path, options)
    if system.find(f"{path}/{NAME}") is None:
        raise CheckpointError(
            "NO_SAVEPOINT",
            f"{path} holds no savepoint: it has no {NAME}, which is written last. "
            "Give the path that `penstock savepoint` printed; one that was interrupted cannot be restored.",
        )
    file = system.open(f"{path}/{NAME}")
    try:
        data = file.read()
    finally:
        file.close()
    return Savepoint(path, decode_manifest(data, path), options)


def publish(path: str, manifest: Manifest, options: Options | None = None) -> Savepoint:
    """Writes the manifest, which makes a savepoint of the files beside it: all of it, or nothing."""
    system = file_system(path, options)
    file = system.create(f"{path}/_{NAME}")
    file.write(encode_manifest(manifest))
    system.close(file)
    system.publish(f"{path}/_{NAME}", f"{path}/{NAME}")
    return Savepoint(path, manifest, options)
