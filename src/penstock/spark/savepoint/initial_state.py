"""The initial state of the slots of a restored job: small plans, which the driver writes and slots execute in their first batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from penstock.atomic_file import write_atomic
from penstock.engine.program.program import Program
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import CheckpointError
from penstock.savepoints.evolution import KeyChanges, value_migrations
from penstock.savepoints.loading import Migrations, RestoreLayout, SlotPlan, read_entries
from penstock.savepoints.matching import RestoreMatch
from penstock.savepoints.savepoint import Savepoint
from penstock.savepoints.type_changes import decode_type_changes, encode_type_changes
from penstock.spark.savepoint.pickled_changes import read_pickled_changes
from penstock.spark.session.pickling import unpickle_program

_decoder = msgspec.msgpack.Decoder(SlotPlan)
_CHANGES = "changes.json"
_PICKLED_CHANGES = "changes"  # name of the file that earlier versions wrote


class InitialState:
    """The initial clocks, tables and entries of a slot. Entries are read from the savepoint on demand."""

    def __init__(self, plan: SlotPlan, folder: str) -> None:
        self._plan = plan
        self._folder = folder

    @property
    def meta(self) -> SlotMetadata:
        return self._plan.meta

    def entries(self, program: bytes, now: int) -> Iterator[list[bytes]]:
        """Yields lists of key, value, key, value, ... of about a megabyte. Changed types are converted to those of the program.

        `now` is the clock of the batch in milliseconds.
        """
        values, keys = self._read_type_changes(program, max(now, self._plan.meta.now))
        try:
            yield from read_entries(self._plan, values, keys, now)
        except OSError as error:
            raise CheckpointError(
                "SAVEPOINT_UNREADABLE",
                f"The savepoint {self._plan.path} can no longer be read: {error}. Keep the savepoint in its place until the "
                "first batch of the restored job is committed.",
            ) from error

    def _read_type_changes(self, data: bytes, now: int) -> tuple[Migrations | None, KeyChanges | None]:
        """Returns the conversions of values and keys whose types have changed, or (None, None)."""
        current, pickled = Path(self._folder, _CHANGES), Path(self._folder, _PICKLED_CHANGES)
        if not current.exists() and not pickled.exists():
            return None, None
        program = unpickle_program(data)  # makes the modules and classes of the program importable
        changes = (
            decode_type_changes(current.read_bytes())
            if current.exists()
            else read_pickled_changes(pickled.read_bytes())
        )
        return value_migrations(changes.state_changes(program), now), changes.key_changes(program)


def write_initial_state(folder: str, savepoint: Savepoint, program: Program, matched: RestoreMatch) -> int:
    """Writes the plans of all slots. Returns the bytes that slots will read."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    if matched.state_changes or matched.key_changes:
        changes = encode_type_changes(matched.state_changes, matched.key_changes)
        write_atomic(Path(folder, _CHANGES), changes, durable=False)
    size = 0
    for level, slot, plan in RestoreLayout(savepoint, program, matched).plans():
        write_atomic(_file(folder, level, slot), msgspec.msgpack.encode(plan), durable=False)
        size += plan.size
    return size


def read_initial_state(folder: str, level: int, slot: int) -> InitialState | None:
    """Returns the initial state of a slot, or None if it starts empty."""
    try:
        plan = _decoder.decode(_file(folder, level, slot).read_bytes())
    except FileNotFoundError:
        return None
    return InitialState(plan, folder)


def _file(folder: str, level: int, slot: int) -> Path:
    return Path(folder, f"{level}-{slot}")
