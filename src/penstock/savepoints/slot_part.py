"""A slot's part of a savepoint: its entries in a file of blocks, and beside it a note of what is in there.

Works on any ordered store. The note is written last; the driver makes the manifest of all notes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, islice

import msgspec

from penstock.connectors.file.system import FileSystem
from penstock.engine.entry_groups import BY_TIME
from penstock.engine.routing import slot_of_group
from penstock.engine.slot_meta import SlotMeta
from penstock.runtime.state.backend import Table
from penstock.runtime.state.cell import SlotCell
from penstock.runtime.store import after_prefix
from penstock.savepoints.evolution import saved_state
from penstock.savepoints.manifest import SavedState, StateFile
from penstock.savepoints.state_file import StateFileWriter

_UNGROUPED = (*BY_TIME, "keys")  # kinds of tables whose entries are not ordered by key group
_BLOCK = 1 << 20  # bytes
_LEAST = _BLOCK // 4  # a block may end with its key group from here on
_AT_ONCE = 2048  # entries
_TABLE = 2  # bytes of a table's number

Entries = Sequence[tuple[bytes, bytes]]
Scan = Callable[[bytes, bytes], Iterator[Entries]]  # the entries of a range in order, some at a time


class PartState(msgspec.Struct):
    """One state of an operator in a slot."""

    operator: str
    state: SavedState


class Part(msgspec.Struct):
    """The note beside a slot's file."""

    level: int
    slot: int
    file: StateFile
    states: list[PartState]
    meta: msgspec.Raw  # the slot's clocks after the batch, as JSON
    seconds: float = 0.0


class SlotPlace(msgspec.Struct, frozen=True):
    """Which slot this is, and over how many slots each operator of its level is spread."""

    level: int
    slot: int
    widths: dict[str, int]
    max_parallelism: int

    def groups(self, operator: str) -> tuple[int, int]:
        """The first and the last key group of an operator that are here.

        >>> SlotPlace(1, 1, {"counts": 2}, 8).groups("counts")
        (4, 7)
        """
        width = self.widths.get(operator, 1)
        mine = [g for g in range(self.max_parallelism) if slot_of_group(g, width, self.max_parallelism) == self.slot]
        return (mine[0], mine[-1]) if mine else (0, 0)


def in_chunks(scan: Callable[[bytes, bytes], Iterator[tuple[bytes, bytes]]]) -> Scan:
    """A store's scan, some entries at a time."""

    def chunks(start: bytes, stop: bytes) -> Iterator[Entries]:
        entries = scan(start, stop)
        while chunk := list(islice(entries, _AT_ONCE)):
            yield chunk

    return chunks


def write_part(
    system: FileSystem, folder: str, name: str, place: SlotPlace, meta: SlotMeta, scan: Scan, began: float
) -> Part:
    """Writes a slot's entries and then the note; on error nothing of it is left. `began`: of the monotonic clock."""
    part = write_file(system, folder, name, place, meta, scan)
    if system.find(f"{folder}/{name}") is None:
        raise FileNotFoundError(f"{folder}/{name} was removed: the savepoint was given up")
    part.seconds = time.monotonic() - began
    note = system.create(f"{folder}/{name}.json")
    note.write(msgspec.json.encode(part))
    system.close(note)
    return part


def write_file(system: FileSystem, folder: str, name: str, place: SlotPlace, meta: SlotMeta, scan: Scan) -> Part:
    """Writes a slot's entries; on error nothing of them is left. Of broadcast state only the first slot's copy is kept."""
    writer = StateFileWriter(system, folder, name)
    try:
        tables = sorted(meta.tables, key=lambda t: t.number)
        states = [PartState(table.operator, _write_table(writer, table, place, scan)) for table in tables]
        file = writer.close()
    except BaseException:
        writer.abort()
        raise
    return Part(place.level, place.slot, file, states, msgspec.Raw(msgspec.json.encode(meta)))


def _write_table(writer: StateFileWriter, table: Table, place: SlotPlace, scan: Scan) -> SavedState:
    state = saved_state(table)
    prefix = table.number.to_bytes(_TABLE, "big")
    chunks = scan(prefix, after_prefix(prefix))
    first = next(chunks, None)
    if first is None:
        return state
    by_group = table.kind not in _UNGROUPED
    if by_group and first[0][0][_TABLE : _TABLE + 2] == SlotCell.GROUP and place.slot:
        return state  # equal in all slots
    groups = None if by_group else place.groups(table.operator)
    for flat, size in _blocks(chain((first,), chunks), by_group):
        low, high = groups or (int.from_bytes(flat[0][:2], "big"), int.from_bytes(flat[-2][:2], "big"))
        writer.add(table.operator, table.name, low, high, flat)
        state.entries += len(flat) // 2
        state.size += size
    return state


def _blocks(chunks: Iterable[Entries], by_group: bool) -> Iterator[tuple[list[bytes], int]]:
    """Entries gathered to blocks, without the number of their table, and the bytes of each block."""
    flat: list[bytes] = []
    size = 0
    for chunk in chunks:
        for more, added in _pieces(chunk, by_group):
            if (flat and size + added > _BLOCK) or (by_group and size >= _LEAST and more[0][:2] != flat[-2][:2]):
                yield flat, size
                flat, size = more, added
            else:
                flat += more
                size += added
    if flat:
        yield flat, size


def _pieces(chunk: Entries, by_group: bool) -> Iterator[tuple[list[bytes], int]]:
    """Some entries, cut at borders of key groups, and where they are too large for a block."""
    if by_group and _group(chunk[0]) != _group(chunk[-1]):
        for _, run in groupby(chunk, _group):
            yield from _pieces(list(run), False)
        return
    flat = [part for key, value in chunk for part in (key[_TABLE:], value)]
    size = sum(map(len, flat))
    if size > _BLOCK and len(chunk) > 1:
        for half in (chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]):
            yield from _pieces(half, False)
    elif flat:
        yield flat, size


def _group(entry: tuple[bytes, bytes]) -> bytes:
    return entry[0][_TABLE : _TABLE + 2]
