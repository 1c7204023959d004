"""A file of state: blocks of entries, each by itself compressed and checked, and a footer that says where they are."""

from __future__ import annotations

import zlib
from types import TracebackType
from typing import Any

import msgspec
import pyarrow as pa

from penstock.connectors.file.system import FileSystem
from penstock.savepoints.manifest import StateFile, damaged

_MAGIC = b"PENSTOCK"
_TAIL = len(_MAGIC) + 12  # magic, length of the footer, its checksum
_CODEC = "zstd"


class Block(msgspec.Struct, array_like=True):
    """Entries of one state, of the key groups from `first` to `last`, in the order of their keys.

    Timers are in the order of their time: their blocks may hold any key group of a slot.
    """

    operator: str
    state: str
    first: int
    last: int
    offset: int
    length: int
    raw: int  # bytes before compression
    entries: int
    crc: int


class _Footer(msgspec.Struct):
    codec: str
    blocks: list[Block]


_encode = msgspec.msgpack.encode
_entries = msgspec.msgpack.Decoder(list[bytes])
_footer = msgspec.msgpack.Decoder(_Footer)


class StateFileWriter:
    """Writes blocks one after the other; `close` writes the footer."""

    def __init__(self, system: FileSystem, folder: str, name: str) -> None:
        self._system = system
        self._name = name
        self._path = f"{folder}/{name}"
        self._file = system.create(self._path)
        self._file.write(_MAGIC)
        self._offset = len(_MAGIC)
        self._blocks: list[Block] = []
        self._codec = pa.Codec(_CODEC, compression_level=1)

    def add(self, operator: str, state: str, first: int, last: int, flat: list[bytes]) -> Block:
        """Writes one block: key, value, key, value, ...; keys are without the number of their table."""
        raw = _encode(flat)
        data = self._codec.compress(raw, asbytes=True)
        block = Block(operator, state, first, last, self._offset, len(data), len(raw), len(flat) // 2, zlib.crc32(data))
        self._file.write(data)
        self._offset += len(data)
        self._blocks.append(block)
        return block

    def close(self) -> StateFile:
        """After this a crash of the machine does not lose it."""
        footer = _encode(_Footer(_CODEC, self._blocks))
        crc = zlib.crc32(footer)
        self._file.write(footer + len(footer).to_bytes(8, "big") + crc.to_bytes(4, "big") + _MAGIC)
        self._system.close(self._file)
        size = self._offset + len(footer) + _TAIL
        return StateFile(self._name, size, crc, len(self._blocks), sum(b.entries for b in self._blocks))

    def abort(self) -> None:
        """Removes what was written."""
        self._file.close()
        self._system.remove(self._path)


class StateFileReader:
    """Reads single blocks of a file, in any order.

    >>> import tempfile
    >>> from penstock.connectors.file.system import file_system
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = StateFileWriter(file_system(folder), folder, "1-0")
    ...     _ = writer.add("counts", "count", 0, 7, [b"key", b"value"])
    ...     written = writer.close()
    ...     with StateFileReader(file_system(folder), folder, written) as reader:
    ...         [reader.read(block) for block in reader.blocks]
    [[b'key', b'value']]
    """

    def __init__(self, system: FileSystem, folder: str, file: StateFile) -> None:
        self._where = folder
        self._name = file.name
        found = system.find(f"{folder}/{file.name}")
        if found is None or found.size != file.size:
            told = "is missing" if found is None else f"has {found.size} bytes instead of {file.size}"
            raise damaged(folder, f"its file {file.name} {told}")
        self._file: Any = system.open(f"{folder}/{file.name}")
        try:
            self._read_footer(file)
        except BaseException:
            self._file.close()
            raise

    def _read_footer(self, file: StateFile) -> None:
        self._file.seek(file.size - _TAIL)
        tail = self._file.read(_TAIL)
        length, crc = int.from_bytes(tail[:8], "big"), int.from_bytes(tail[8:12], "big")
        if tail[12:] != _MAGIC or crc != file.footer_crc or not 0 < length <= file.size - _TAIL:
            raise self._damaged("its end is not that of the file that was written")
        self._file.seek(file.size - _TAIL - length)
        footer = self._file.read(length)
        if zlib.crc32(footer) != crc:
            raise self._damaged("the checksum of its footer differs")
        read = _footer.decode(footer)
        self.blocks = read.blocks
        self._codec = pa.Codec(read.codec)

    def read(self, block: Block) -> list[bytes]:
        """The entries of a block: key, value, key, value, ..."""
        self._file.seek(block.offset)
        data = self._file.read(block.length)
        if len(data) != block.length or zlib.crc32(data) != block.crc:
            raise self._damaged(
                f"the checksum of a block differs (state '{block.state}' of operator '{block.operator}', "
                f"key groups {block.first} to {block.last})"
            )
        return _entries.decode(self._codec.decompress(data, block.raw, asbytes=True))

    def _damaged(self, what: str) -> Exception:
        return damaged(self._where, f"file {self._name}: {what}")

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> StateFileReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
