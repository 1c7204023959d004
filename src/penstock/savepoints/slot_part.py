"""The part of one slot in a savepoint: a state file with its entries, and a description of the file.

Works with any ordered store. The description is written last. The driver builds the manifest from all descriptions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, islice

import msgspec

from penstock.connectors.file.system.file_system import FileSystem
from penstock.engine.slots.entry_groups import BY_TIME, slot_of_group
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.runtime.state.cell import SlotCell
from penstock.runtime.state.live_entries import LiveEntries
from penstock.runtime.state.store import after_prefix
from penstock.runtime.state.tables import StateTable
from penstock.savepoints.evolution import saved_state
from penstock.savepoints.manifest import SavedState, StateFile
from penstock.savepoints.state_file import StateFileWriter

_UNGROUPED = (*BY_TIME, "keys")  # kinds of tables whose entries are not ordered by key group
_BLOCK_SIZE = 1 << 20  # bytes
_MIN_BLOCK_SIZE = _BLOCK_SIZE // 4  # from this size on a block may end with its key group
_CHUNK_ENTRIES = 2048
_TABLE = 2  # bytes of a table's number

Entries = Sequence[tuple[bytes, bytes]]
Scan = Callable[[bytes, bytes], Iterator[Entries]]  # the entries of a range in order, in chunks


class PartState(msgspec.Struct):
    """A state of an operator in a slot."""

    operator: str
    state: SavedState


class SavepointPart(msgspec.Struct):
    """The description of the state file of a slot."""

    level: int
    slot: int
    file: StateFile
    states: list[PartState]
    meta: msgspec.Raw  # the metadata of the slot after the batch, as JSON
    seconds: float = 0.0


class SlotAssignment(msgspec.Struct, frozen=True):
    """A slot, and the parallelism (`widths`) of each operator of its level."""

    level: int
    slot: int
    widths: dict[str, int]
    max_parallelism: int

    def groups(self, operator: str) -> tuple[int, int]:
        """The first and the last key group of an operator in this slot.

        >>> SlotAssignment(1, 1, {"counts": 2}, 8).groups("counts")
        (4, 7)
        """
        width = self.widths.get(operator, 1)
        own = [g for g in range(self.max_parallelism) if slot_of_group(g, width, self.max_parallelism) == self.slot]
        return (own[0], own[-1]) if own else (0, 0)


def chunked_scan(scan: Callable[[bytes, bytes], Iterator[tuple[bytes, bytes]]]) -> Scan:
    """A scan of a store that returns entries in chunks."""

    def chunks(start: bytes, stop: bytes) -> Iterator[Entries]:
        entries = scan(start, stop)
        while chunk := list(islice(entries, _CHUNK_ENTRIES)):
            yield chunk

    return chunks


def write_part(
    system: FileSystem, folder: str, name: str, place: SlotAssignment, meta: SlotMetadata, scan: Scan, start: float
) -> SavepointPart:
    """Writes the entries of a slot, then the description. After an error no file is left.

    `start` is the start of the savepoint on the monotonic clock.
    """
    part = write_entries(system, folder, name, place, meta, scan)
    if system.get_status(f"{folder}/{name}") is None:
        raise FileNotFoundError(f"{folder}/{name} was removed, because the savepoint has failed")
    part.seconds = time.monotonic() - start
    description = system.create(f"{folder}/{name}.json")
    description.write(msgspec.json.encode(part))
    system.close(description)
    return part


def write_entries(
    system: FileSystem, folder: str, name: str, place: SlotAssignment, meta: SlotMetadata, scan: Scan
) -> SavepointPart:
    """Writes the entries of a slot. After an error no file is left. Broadcast state is written by the first slot only."""
    writer = StateFileWriter(system, folder, name)
    try:
        tables = sorted(meta.tables, key=lambda t: t.number)
        states = [PartState(t.operator, _write_table(writer, t, place, _live_scan(t, meta.now, scan))) for t in tables]
        file = writer.close()
    except BaseException:
        writer.abort()
        raise
    return SavepointPart(place.level, place.slot, file, states, msgspec.Raw(msgspec.json.encode(meta)))


def _live_scan(table: StateTable, now: int, scan: Scan) -> Scan:
    """A scan of a table without expired entries, if its time to live is configured so."""
    if not (table.ttl and table.drops_expired):
        return scan

    def chunks(start: bytes, stop: bytes) -> Iterator[Entries]:
        live = LiveEntries(table, now)
        for chunk in scan(start, stop):
            if selected := live.select(chunk):
                yield selected

    return chunks


def _write_table(writer: StateFileWriter, table: StateTable, place: SlotAssignment, scan: Scan) -> SavedState:
    state = saved_state(table)
    prefix = table.number.to_bytes(_TABLE, "big")
    chunks = scan(prefix, after_prefix(prefix))
    first = next(chunks, None)
    if first is None:
        return state
    by_group = table.kind not in _UNGROUPED
    if by_group and first[0][0][_TABLE : _TABLE + 2] == SlotCell.GROUP and place.slot:
        return state  # broadcast state, which is the same in all slots
    groups = None if by_group else place.groups(table.operator)
    for flat, size in _blocks(chain((first,), chunks), by_group):
        low, high = groups or (int.from_bytes(flat[0][:2], "big"), int.from_bytes(flat[-2][:2], "big"))
        writer.add(table.operator, table.name, low, high, flat)
        state.entries += len(flat) // 2
        state.size += size
    return state


def _blocks(chunks: Iterable[Entries], by_group: bool) -> Iterator[tuple[list[bytes], int]]:
    """Blocks of entries, without the number of their table, and the bytes of each block."""
    flat: list[bytes] = []
    size = 0
    for chunk in chunks:
        for more, added in _split_chunk(chunk, by_group):
            if (flat and size + added > _BLOCK_SIZE) or (
                by_group and size >= _MIN_BLOCK_SIZE and more[0][:2] != flat[-2][:2]
            ):
                yield flat, size
                flat, size = more, added
            else:
                flat += more
                size += added
    if flat:
        yield flat, size


def _split_chunk(chunk: Entries, by_group: bool) -> Iterator[tuple[list[bytes], int]]:
    """Entries split at the borders of key groups, and where they exceed the size of a block."""
    if by_group and _group(chunk[0]) != _group(chunk[-1]):
        for _, run in groupby(chunk, _group):
            yield from _split_chunk(list(run), False)
        return
    flat = [part for key, value in chunk for part in (key[_TABLE:], value)]
    size = sum(map(len, flat))
    if size > _BLOCK_SIZE and len(chunk) > 1:
        for half in (chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]):
            yield from _split_chunk(half, False)
    elif flat:
        yield flat, size


def _group(entry: tuple[bytes, bytes]) -> bytes:
    return entry[0][_TABLE : _TABLE + 2]
