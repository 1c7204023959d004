"""What each slot of a restored job starts with: a list of blocks, planned on the driver, read where the slot runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import msgspec

from penstock.connectors.file.system import file_system
from penstock.engine.entry_groups import BROADCAST
from penstock.engine.program import Program
from penstock.engine.rescale import Placement
from penstock.engine.routing import slot_of_group
from penstock.engine.slot_meta import SlotMeta
from penstock.errors import StateError
from penstock.runtime.state.backend import KEY_TABLE, Table
from penstock.savepoints.key_change import KeyChanges
from penstock.savepoints.manifest import Manifest, StateFile
from penstock.savepoints.matching import Matched
from penstock.savepoints.new_keys import NewKeys
from penstock.savepoints.rekeyed import Rekeyed, SlotShare
from penstock.savepoints.savepoint import Savepoint
from penstock.savepoints.state_file import Block, StateFileReader

_TABLE = 2

Migrations = dict[tuple[str, str], Callable[[bytes], bytes]]  # what rewrites values, by operator and state


class Load(msgspec.Struct, array_like=True):
    """A block that a slot reads: `whole`: all of its entries are the slot's, and stay as they are."""

    block: Block
    table: int
    whole: bool


class FileLoad(msgspec.Struct, array_like=True):
    """What a slot reads of a file."""

    file: StateFile
    loads: list[Load]


class SlotPlan(msgspec.Struct):
    """All that a slot starts with: its clocks and tables, and where its entries are."""

    path: str
    meta: SlotMeta
    slot: int
    widths: dict[str, int]
    max_parallelism: int
    regroup: bool
    files: list[FileLoad]

    @property
    def size(self) -> int:
        """Bytes to read, before compression."""
        return sum(load.block.raw for file in self.files for load in file.loads)


class Layout:
    """The blocks of a savepoint, and which slot of a job needs which."""

    def __init__(self, savepoint: Savepoint, program: Program, matched: Matched) -> None:
        self._savepoint = savepoint
        self._program = program
        self._matched = matched
        self._files: list[tuple[StateFile, list[Block]]] = []
        for file in savepoint.manifest.files:
            with StateFileReader(savepoint.system, savepoint.path, file) as reader:
                self._files.append((file, reader.blocks))
        self._first_copy: dict[tuple[str, str], str] = {}  # the file whose copy of a broadcast state is read
        for file, blocks in self._files:
            for block in blocks:
                if block.first == BROADCAST:
                    self._first_copy.setdefault((block.operator, block.state), file.name)

    def plans(self) -> Iterator[tuple[int, int, SlotPlan]]:
        """What each (level, slot) starts with."""
        for level in range(1, self._program.depth + 1):
            for slot in range(self._program.parallelism):
                yield level, slot, self.plan(level, slot)

    def plan(self, level: int, slot: int) -> SlotPlan:
        manifest: Manifest = self._savepoint.manifest
        widths = {o.uid: o.parallelism for o in self._program.operators_at(level)}
        meta = self._matched.clocks.meta(self._program, level)
        meta.tables = [msgspec.structs.replace(table) for table in self._matched.tables[level]]
        meta.broadcast = {u: h for u, h in self._matched.clocks.broadcast.items() if slot < widths.get(u, 0)}
        tables = {(t.operator, t.name): t for t in meta.tables}
        regroup = manifest.max_parallelism != self._program.max_parallelism
        files = []
        for file, blocks in self._files:
            loads = [
                load
                for block in blocks
                if (table := tables.get((block.operator, block.state))) is not None
                and (load := self._load(block, table, file, slot, widths[table.operator], regroup)) is not None
            ]
            if loads:
                files.append(FileLoad(file, loads))
        max_parallelism = self._program.max_parallelism
        return SlotPlan(self._savepoint.path, meta, slot, widths, max_parallelism, regroup, files)

    def _load(self, block: Block, table: Table, file: StateFile, slot: int, width: int, regroup: bool) -> Load | None:
        if slot >= width:
            return None
        if block.first == BROADCAST:
            mine = self._first_copy[block.operator, block.state] == file.name
            return Load(block, table.number, True) if mine else None
        if regroup or table.operator in self._matched.keys:  # a new key may be of any group
            return Load(block, table.number, False)
        groups = self._program.max_parallelism
        first, last = slot_of_group(block.first, width, groups), slot_of_group(block.last, width, groups)
        if not first <= slot <= last:
            return None
        return Load(block, table.number, first == last)


def entries_of(
    plan: SlotPlan, migrations: Migrations | None = None, keys: KeyChanges | None = None
) -> Iterator[list[bytes]]:
    """A slot's entries, block by block: key, value, key, value, ...; keys begin with the number of their table.

    Tables come one after the other, each in the order of its files: entries by key group are then in the order of their keys.
    Those of operators whose keys are rewritten are in no order, and come last.
    """
    placement = Placement(plan.max_parallelism, plan.regroup)
    rekeyed = _rekeyed(plan, keys or {})
    for table in sorted(plan.meta.tables, key=lambda t: t.operator in rekeyed):
        prefix = table.number.to_bytes(_TABLE, "big")
        migrate = None if migrations is None else migrations.get((table.operator, table.name))
        width, moving = plan.widths[table.operator], rekeyed.get(table.operator)
        for load, flat in _read(plan, table):
            names, values = flat[::2], flat[1::2]
            if moving is not None and load.block.first != BROADCAST:
                with _naming(table):
                    parts = moving.moved(table, names, values, migrate)
                yield from parts
                continue
            if migrate is not None:
                with _naming(table):
                    values = list(map(migrate, values))
            if load.whole:
                flat[::2] = [prefix + name for name in names]
                flat[1::2] = values
            else:
                flat = _mine(placement, table, [prefix + name for name in names], values, plan.slot, width)
            if flat:
                yield flat
    for operator in rekeyed.values():
        operator.check()


def _read(plan: SlotPlan, table: Table) -> Iterator[tuple[Load, list[bytes]]]:
    """The blocks of a table that a slot needs, with their entries."""
    system = file_system(plan.path)
    for file in plan.files:
        loads = [load for load in file.loads if load.table == table.number]
        if loads:
            with StateFileReader(system, plan.path, file.file) as reader:
                for load in loads:
                    yield load, reader.read(load.block)


def _rekeyed(plan: SlotPlan, keys: KeyChanges) -> dict[str, Rekeyed]:
    """What rewrites keys, by operator: of those that this slot has a part of."""
    found = {}
    for kept in plan.meta.tables:
        if kept.name == KEY_TABLE and kept.operator in keys and plan.slot < plan.widths[kept.operator]:
            share = SlotShare(plan.slot, plan.widths[kept.operator], plan.max_parallelism)
            names = partial(_names, plan, kept.operator)
            found[kept.operator] = Rekeyed(NewKeys(kept.operator, keys[kept.operator]), kept, share, names)
    return found


def _names(plan: SlotPlan, operator: str) -> Iterator[tuple[str, list[bytes]]]:
    """The names of an operator's entries that have a key, block by block, with the kind of their table."""
    for table in plan.meta.tables:
        if table.operator == operator:
            yield from ((table.kind, flat[::2]) for load, flat in _read(plan, table) if load.block.first != BROADCAST)


@contextmanager
def _naming(table: Table) -> Iterator[None]:
    """Says which state a value is of that could not be rewritten."""
    try:
        yield
    except StateError as error:
        raise StateError(error.code, f"State '{table.name}' of operator '{table.operator}': {error.text}") from error


def _mine(
    placement: Placement, table: Table, keys: list[bytes], values: list[bytes], slot: int, width: int
) -> list[bytes]:
    """The entries of a block that are a slot's own."""
    flat: list[bytes] = []
    prefix, groups = keys[0][:_TABLE], placement.max_parallelism
    for key, value in zip(keys, values, strict=True):
        group, rest = placement.place(table, key)
        if group is None or slot_of_group(group, width, groups) == slot:
            flat += (prefix + rest, value)
    return flat
