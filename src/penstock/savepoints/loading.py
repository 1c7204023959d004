"""Loads the initial state of slots: the driver plans which blocks of a savepoint each slot reads, and the slot reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import msgspec

from penstock.connectors.file.system.file_system import file_system
from penstock.engine.program.program import Program
from penstock.engine.slots.entry_groups import BROADCAST, slot_of_group
from penstock.engine.slots.rescale import EntryPlacement
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import StateError
from penstock.runtime.relational.evolution.table_rewrite import TableRewrite, merged_counts
from penstock.runtime.state.live_entries import LiveEntries
from penstock.runtime.state.tables import KEY_TABLE, StateTable
from penstock.savepoints.evolution import KeyChanges, Migrate
from penstock.savepoints.manifest import Manifest, StateFile
from penstock.savepoints.matching import RestoreMatch
from penstock.savepoints.rekeying import KeyRewriter, RekeyedEntries, SlotKeys
from penstock.savepoints.savepoint import Savepoint
from penstock.savepoints.state_file import StateBlock, StateFileReader

_TABLE = 2  # bytes of a table number

Migrations = dict[tuple[str, str], Migrate]  # functions that rewrite values, by operator and state


class BlockLoad(msgspec.Struct, array_like=True):
    """A block that a slot reads. If it is `complete`, all of its entries belong to the slot and keep their key group."""

    block: StateBlock
    table: int
    complete: bool


class FileLoad(msgspec.Struct, array_like=True):
    """The blocks that a slot reads from a file."""

    file: StateFile
    loads: list[BlockLoad]


class SlotPlan(msgspec.Struct):
    """The initial state of a slot: its clocks and tables, and the blocks with its entries. It is stored in the checkpoint."""

    path: str
    meta: SlotMetadata
    slot: int
    widths: dict[str, int]
    max_parallelism: int
    regroup: bool
    files: list[FileLoad]
    rewrites: dict[int, TableRewrite] = {}  # tables of a changed query, by number

    @property
    def size(self) -> int:
        """Uncompressed bytes to read."""
        return sum(load.block.raw_size for file in self.files for load in file.loads)


class RestoreLayout:
    """Assigns the blocks of a savepoint to the slots of a job."""

    def __init__(self, savepoint: Savepoint, program: Program, matched: RestoreMatch) -> None:
        self._savepoint = savepoint
        self._program = program
        self._matched = matched
        self._files: list[tuple[StateFile, list[StateBlock]]] = []
        for file in savepoint.manifest.files:
            with StateFileReader(savepoint.system, savepoint.path, file) as reader:
                self._files.append((file, reader.blocks))
        self._first_copy: dict[tuple[str, str], str] = {}  # the file from which a broadcast state is read
        for file, blocks in self._files:
            for block in blocks:
                if block.first == BROADCAST:
                    self._first_copy.setdefault((block.operator, block.state), file.name)

    def plans(self) -> Iterator[tuple[int, int, SlotPlan]]:
        """The plan of each slot, with its level and number."""
        for level in range(1, self._program.depth + 1):
            for slot in range(self._program.parallelism):
                yield level, slot, self.plan(level, slot)

    def plan(self, level: int, slot: int) -> SlotPlan:
        """The plan of one slot."""
        manifest: Manifest = self._savepoint.manifest
        widths = {o.uid: o.parallelism for o in self._program.operators_at(level)}
        meta = self._matched.clocks.meta(self._program, level)
        meta.tables = [msgspec.structs.replace(table) for table in self._matched.tables[level]]
        meta.broadcast = {u: h for u, h in self._matched.clocks.broadcast.items() if slot < widths.get(u, 0)}
        meta.key_forms = {u: forms for u, forms in self._matched.key_forms.items() if slot < widths.get(u, 0)}
        tables = {(t.operator, t.name): t for t in meta.tables}
        regroup = manifest.max_parallelism != self._program.max_parallelism
        if regroup:
            _refuse_blocks(meta.tables, manifest.max_parallelism, self._program.max_parallelism)
        files = []
        renamed = self._matched.renamed
        hidden = set(renamed.values()) - set(renamed)  # uids in the savepoint that belong to other operators now
        for file, blocks in self._files:
            loads = [
                load
                for block in blocks
                if block.operator not in hidden
                and (table := tables.get((renamed.get(block.operator, block.operator), block.state))) is not None
                and (load := self._load(block, table, file, slot, widths[table.operator], regroup)) is not None
            ]
            if loads:
                files.append(FileLoad(file, loads))
        max_parallelism = self._program.max_parallelism
        rewrites = {
            table.number: rewrite
            for table in meta.tables
            if (rewrite := self._matched.rewrites.get((table.operator, table.name))) is not None
        }
        return SlotPlan(self._savepoint.path, meta, slot, widths, max_parallelism, regroup, files, rewrites)

    def _load(
        self, block: StateBlock, table: StateTable, file: StateFile, slot: int, width: int, regroup: bool
    ) -> BlockLoad | None:
        if slot >= width:
            return None
        if block.first == BROADCAST:
            is_first = self._first_copy[block.operator, block.state] == file.name
            return BlockLoad(block, table.number, True) if is_first else None
        rewritten = (table.operator, table.name) in self._matched.rewrites
        if regroup or rewritten or table.operator in self._matched.key_changes:  # a new key may belong to any key group
            return BlockLoad(block, table.number, False)
        groups = self._program.max_parallelism
        first, last = slot_of_group(block.first, width, groups), slot_of_group(block.last, width, groups)
        if not first <= slot <= last:
            return None
        return BlockLoad(block, table.number, first == last)


def _refuse_blocks(tables: list[StateTable], old: int, new: int) -> None:
    """Raises StateError for joins whose rows are stored together by key group (`BlockTable` and `WindowRows`)."""
    for table in tables:
        if (table.kind, table.name) in (("rows", "left blocks"), ("rows", "right blocks"), ("times", "window blocks")):
            raise StateError(
                "MAX_PARALLELISM",
                f"The savepoint has a maximum parallelism of {old}, and the job one of {new}. The join '{table.operator}' stores "
                f"its rows by key groups, which depend on it. Set pipeline.max-parallelism to {old}.",
            )


def read_entries(
    plan: SlotPlan, migrations: Migrations | None = None, keys: KeyChanges | None = None, now: int | None = None
) -> Iterator[list[bytes]]:
    """The entries of a slot, block by block, as key, value, key, value, ... Keys start with the number of their table.

    Tables follow one after the other, each in the order of its files, so that entries are in the order of their keys. Entries of
    operators whose keys are rewritten come last and have no order. `now` is the clock of the job in milliseconds; entries that
    have expired are left out if their time to live is configured so.
    """
    clock = plan.meta.now if now is None else max(now, plan.meta.now)
    placement = EntryPlacement(plan.max_parallelism, plan.regroup)
    rekeyed = _rekeyed(plan, keys or {})
    for table in sorted(plan.meta.tables, key=lambda t: t.operator in rekeyed or t.number in plan.rewrites):
        if table.number in plan.rewrites:
            yield from _rewritten(plan, table, plan.rewrites[table.number], clock)
            continue
        prefix = table.number.to_bytes(_TABLE, "big")
        migrate = None if migrations is None else migrations.get((table.operator, table.name))
        width, rekeying = plan.widths[table.operator], rekeyed.get(table.operator)
        live = LiveEntries(table, clock) if table.ttl and table.drops_expired else None
        for load, flat in _read_blocks(plan, table):
            names, values = flat[::2], flat[1::2]
            if rekeying is not None and load.block.first != BROADCAST:
                with _name_state(table):
                    parts = rekeying.rewrite(table, names, values, migrate)
                yield from parts
                continue
            if migrate is not None:
                with _name_state(table):
                    values = list(map(migrate, names, values))
            if live is not None:
                selected = live.select(zip(names, values, strict=True))
                names, values = [name for name, _ in selected], [value for _, value in selected]
                flat = [part for entry in selected for part in entry]
            if not names:
                continue
            if load.complete:
                flat[::2] = [prefix + name for name in names]
                flat[1::2] = values
            else:
                flat = _select_own(placement, table, [prefix + name for name in names], values, plan.slot, width)
            if flat:
                yield flat
    for operator in rekeyed.values():
        operator.check_collisions()


def _rewritten(plan: SlotPlan, table: StateTable, change: TableRewrite, clock: int) -> Iterator[list[bytes]]:
    """The entries of a table of a changed query. Those that become equal are added up."""
    regroup = plan.regroup or change.key is not None
    placement, width = EntryPlacement(plan.max_parallelism, regroup), plan.widths[table.operator]
    prefix = table.number.to_bytes(_TABLE, "big")
    merged: dict[bytes, bytes] = {}
    for load, flat in _read_blocks(plan, table):
        if load.block.first == BROADCAST:
            continue
        entries = list(change.rewrite(flat[::2], flat[1::2], clock))
        names, values = [prefix + name for name, _ in entries], [value for _, value in entries]
        if not names:
            continue
        own = _select_own(placement, table, names, values, plan.slot, width)
        if not change.merges:
            yield own
            continue
        for name, value in zip(own[::2], own[1::2], strict=True):
            merged[name] = merged_counts(merged[name], value) if name in merged else value
    if merged:
        yield [part for entry in merged.items() for part in entry]


def _read_blocks(plan: SlotPlan, table: StateTable) -> Iterator[tuple[BlockLoad, list[bytes]]]:
    """The blocks of a table that a slot reads, with their entries."""
    system = file_system(plan.path)
    for file in plan.files:
        loads = [load for load in file.loads if load.table == table.number]
        if loads:
            with StateFileReader(system, plan.path, file.file) as reader:
                for load in loads:
                    yield load, reader.read(load.block)


def _rekeyed(plan: SlotPlan, keys: KeyChanges) -> dict[str, RekeyedEntries]:
    """The operators of this slot whose keys are rewritten, by uid."""
    rekeyed = {}
    for table in plan.meta.tables:
        if table.name == KEY_TABLE and table.operator in keys and plan.slot < plan.widths[table.operator]:
            slot_keys = SlotKeys(plan.slot, plan.widths[table.operator], plan.max_parallelism)
            names = partial(_names, plan, table.operator)
            rekeyed[table.operator] = RekeyedEntries(
                KeyRewriter(table.operator, keys[table.operator]), table, slot_keys, names
            )
    return rekeyed


def _names(plan: SlotPlan, operator: str) -> Iterator[tuple[str, list[bytes]]]:
    """The names of the keyed entries of an operator, block by block, with the kind of their table."""
    for table in plan.meta.tables:
        if table.operator == operator:
            yield from (
                (table.kind, flat[::2]) for load, flat in _read_blocks(plan, table) if load.block.first != BROADCAST
            )


@contextmanager
def _name_state(table: StateTable) -> Iterator[None]:
    """Adds the state to the error about a value that cannot be rewritten."""
    try:
        yield
    except StateError as error:
        raise StateError(error.code, f"State '{table.name}' of operator '{table.operator}': {error.text}") from error


def _select_own(
    placement: EntryPlacement, table: StateTable, keys: list[bytes], values: list[bytes], slot: int, width: int
) -> list[bytes]:
    """The entries of a block that belong to a slot."""
    flat: list[bytes] = []
    prefix, groups = keys[0][:_TABLE], placement.max_parallelism
    for key, value in zip(keys, values, strict=True):
        group, rest = placement.assign(table, key)
        if group is None or slot_of_group(group, width, groups) == slot:
            flat += (prefix + rest, value)
    return flat
