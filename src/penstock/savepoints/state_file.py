"""State files: blocks of entries, each compressed and with a checksum, and a footer with their positions."""

from __future__ import annotations

import zlib
from types import TracebackType
from typing import Any

import msgspec
import pyarrow as pa

from penstock.connectors.file.system.file_system import FileSystem
from penstock.savepoints.manifest import StateFile, damaged_error

_MAGIC = b"PENSTOCK"
_TAIL = len(_MAGIC) + 12  # magic, length of the footer, its checksum
_CODEC = "zstd"


class StateBlock(msgspec.Struct, array_like=True):
    """The position of entries of one state with key groups from `first` to `last`, in the order of their keys.

    Timers are in the order of their time, so their blocks may contain any key group of a slot.
    """

    operator: str
    state: str
    first: int
    last: int
    offset: int
    length: int
    raw_size: int  # bytes before compression
    entries: int
    crc: int


class _Footer(msgspec.Struct):
    codec: str
    blocks: list[StateBlock]


_encode = msgspec.msgpack.encode
_entries = msgspec.msgpack.Decoder(list[bytes])
_footer = msgspec.msgpack.Decoder(_Footer)


class StateFileWriter:
    """Writes blocks, then the footer in `close`."""

    def __init__(self, system: FileSystem, folder: str, name: str) -> None:
        self._system = system
        self._name = name
        self._path = f"{folder}/{name}"
        self._file = system.create(self._path)
        self._file.write(_MAGIC)
        self._offset = len(_MAGIC)
        self._blocks: list[StateBlock] = []
        self._codec = pa.Codec(_CODEC, compression_level=1)

    def add(self, operator: str, state: str, first: int, last: int, flat: list[bytes]) -> StateBlock:
        """Writes a block of entries (key, value, key, value, ...). Keys are without the number of their table."""
        raw = _encode(flat)
        data = self._codec.compress(raw, asbytes=True)
        block = StateBlock(
            operator, state, first, last, self._offset, len(data), len(raw), len(flat) // 2, zlib.crc32(data)
        )
        self._file.write(data)
        self._offset += len(data)
        self._blocks.append(block)
        return block

    def close(self) -> StateFile:
        """Writes the footer and closes the file durably."""
        footer = _encode(_Footer(_CODEC, self._blocks))
        crc = zlib.crc32(footer)
        self._file.write(footer + len(footer).to_bytes(8, "big") + crc.to_bytes(4, "big") + _MAGIC)
        self._system.close(self._file)
        size = self._offset + len(footer) + _TAIL
        return StateFile(self._name, size, crc, len(self._blocks), sum(b.entries for b in self._blocks))

    def abort(self) -> None:
        """Removes the file."""
        self._file.close()
        self._system.remove(self._path)


class StateFileReader:
    """Reads blocks of a file, in any order.

    >>> import tempfile
    >>> from penstock.connectors.file.system.file_system import file_system
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
        status = system.get_status(f"{folder}/{file.name}")
        if status is None or status.size != file.size:
            problem = "is missing" if status is None else f"has {status.size} bytes instead of {file.size}"
            raise damaged_error(folder, f"its file {file.name} {problem}")
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
            raise self._damaged("its last bytes are not those that were written")
        self._file.seek(file.size - _TAIL - length)
        footer = self._file.read(length)
        if zlib.crc32(footer) != crc:
            raise self._damaged("the checksum of its footer differs")
        read = _footer.decode(footer)
        self.blocks = read.blocks
        self._codec = pa.Codec(read.codec)

    def read(self, block: StateBlock) -> list[bytes]:
        """The entries of a block as key, value, key, value, ..."""
        self._file.seek(block.offset)
        data = self._file.read(block.length)
        if len(data) != block.length or zlib.crc32(data) != block.crc:
            raise self._damaged(
                f"the checksum of a block differs (state '{block.state}' of operator '{block.operator}', "
                f"key groups {block.first} to {block.last})"
            )
        return _entries.decode(self._codec.decompress(data, block.raw_size, asbytes=True))

    def _damaged(self, problem: str) -> Exception:
        return damaged_error(self._where, f"file {self._name}: {problem}")

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> StateFileReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
