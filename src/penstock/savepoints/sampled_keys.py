"""Samples the keys of a savepoint, to compare keys whose type was not declared with those of a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from penstock.engine.slots.entry_groups import BROADCAST, key_slice
from penstock.runtime.state.evolution.key_forms import KeyForm, key_forms
from penstock.savepoints.manifest import SavedOperator, StateFile
from penstock.savepoints.savepoint import Savepoint
from penstock.savepoints.state_file import StateBlock, StateFileReader

_BLOCKS = 8  # per operator, each of another slot
_BROADCAST_STATE = "slot:"  # prefix of the names of states without keys


def has_keys(operator: SavedOperator) -> bool:
    """Whether a savepoint has entries with keys of an operator."""
    return operator.keyed and any(s.entries and not s.name.startswith(_BROADCAST_STATE) for s in operator.states)


def sample_key_forms(savepoint: Savepoint, uids: Collection[str]) -> dict[str, list[KeyForm]]:
    """The forms of the keys of operators, by uid, from some blocks of each. An empty list if they cannot be compared."""
    kinds = {(o.uid, s.name): s.kind for o in savepoint.manifest.operators if o.uid in uids for s in o.states}
    keys: dict[str, list[bytes]] = {uid: [] for uid in uids}
    blocks: Counter[str] = Counter()
    for file in savepoint.manifest.files:
        wanted = {uid for uid in uids if blocks[uid] < _BLOCKS}
        if not wanted:
            break
        if file.entries:
            for block, names in _read_largest_blocks(savepoint, file, wanted):
                kind = kinds[block.operator, block.state]
                keys[block.operator] += [name[key_slice(kind, name)] for name in names]
                blocks[block.operator] += 1
    return {uid: key_forms(sampled) for uid, sampled in keys.items()}


def _read_largest_blocks(
    savepoint: Savepoint, file: StateFile, uids: Collection[str]
) -> Iterator[tuple[StateBlock, list[bytes]]]:
    """The largest block of each operator in a file, with the names of its entries."""
    with StateFileReader(savepoint.system, savepoint.path, file) as reader:
        largest: dict[str, StateBlock] = {}
        for block in reader.blocks:
            if block.operator in uids and block.first != BROADCAST:
                known = largest.get(block.operator)
                if known is None or known.entries < block.entries:
                    largest[block.operator] = block
        for block in largest.values():
            yield block, reader.read(block)[::2]
