"""What the slots of a restored job start with: small plans, written on the driver, followed by each slot in its first batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import msgspec

from penstock.engine.program import Program
from penstock.engine.slot_meta import SlotMeta
from penstock.errors import CheckpointError
from penstock.savepoints.evolution import migrations
from penstock.savepoints.loading import Layout, SlotPlan, entries_of
from penstock.savepoints.matching import Matched
from penstock.savepoints.savepoint import Savepoint
from penstock.spark.pickling import pickle_value, unpickle_program

_decoder = msgspec.msgpack.Decoder(SlotPlan)
_CHANGES = "changes"


class InitialState:
    """What a slot starts with: its clocks and tables, and its entries, which are read when they are asked for."""

    def __init__(self, plan: SlotPlan, changes: bytes = b"") -> None:
        self._plan = plan
        self._changes = changes  # states whose values are rewritten, and operators whose keys are

    @property
    def meta(self) -> SlotMeta:
        return self._plan.meta

    def entries(self, program: bytes) -> Iterator[list[bytes]]:
        """Key, value, key, value, ... in parts of about a megabyte. Types that changed are those of the program."""
        rewriting, keys = None, None
        if self._changes:
            unpickle_program(program)  # makes its modules and classes known here
            changes, keys = cloudpickle.loads(self._changes)
            rewriting = migrations(changes)
        try:
            yield from entries_of(self._plan, rewriting, keys)
        except OSError as error:
            raise CheckpointError(
                "SAVEPOINT_UNREADABLE",
                f"The savepoint {self._plan.path} cannot be read any more: {error}. It must stay where it is until the first "
                "batch of the restored job is committed.",
            ) from error


def write_initial(folder: str, savepoint: Savepoint, program: Program, matched: Matched) -> int:
    """Writes what each (level, slot) is to start with; gives the bytes that they will read."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    if matched.changes or matched.keys:
        Path(folder, _CHANGES).write_bytes(pickle_value((matched.changes, matched.keys)))
    size = 0
    for level, slot, plan in Layout(savepoint, program, matched).plans():
        _file(folder, level, slot).write_bytes(msgspec.msgpack.encode(plan))
        size += plan.size
    return size


def read_initial(folder: str, level: int, slot: int) -> InitialState | None:
    """What a slot starts with; None: with nothing."""
    try:
        plan = _decoder.decode(_file(folder, level, slot).read_bytes())
    except FileNotFoundError:
        return None
    changes = Path(folder, _CHANGES)
    return InitialState(plan, changes.read_bytes() if changes.exists() else b"")


def _file(folder: str, level: int, slot: int) -> Path:
    return Path(folder, f"{level}-{slot}")
