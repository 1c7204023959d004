"""The edits of existing savepoints: renamed and removed operators, removed states, and removed or replaced keys."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.engine.slots.entry_groups import with_key_group
from penstock.errors import StateError
from penstock.savepoints import SavedOperator, SavedState, Savepoint, StateFile, StateFileReader, StateFileWriter
from penstock.state_processor.blocks import BlockWriter
from penstock.state_processor.entries import parse_entry_key, split_scope


class SavepointEdits:
    """The operators of a new savepoint, and which entries of existing savepoints (`parts`) are copied to it."""

    def __init__(self, operators: Iterable[SavedOperator], max_parallelism: int) -> None:
        self.operators: dict[str, SavedOperator] = {}  # of the new savepoint, by uid
        self._max_parallelism = max_parallelism
        self._new_uids: dict[tuple[int, str], str] = {}  # by part and uid in that part
        self._removed_states: set[tuple[str, str]] = set()  # by uid and state name
        self._removed_keys: dict[str, set[bytes]] = {}  # by uid
        self._replaced_keys: dict[tuple[str, str], set[bytes]] = {}  # by uid and state name
        self.add_part(0, operators)

    def add_part(self, number: int, operators: Iterable[SavedOperator]) -> None:
        """Adds the operators of an existing savepoint."""
        for operator in operators:
            self.operators[operator.uid] = msgspec.structs.replace(operator, states=list(operator.states))
            self._new_uids[number, operator.uid] = operator.uid

    def operator(self, uid: str) -> SavedOperator:
        """The operator with a uid. Raises an error if there is none."""
        if uid not in self.operators:
            raise StateError(
                "NO_SUCH_OPERATOR",
                f"The savepoint has no operator '{uid}'. It has: {', '.join(map(repr, self.operators)) or 'none'}.",
            )
        return self.operators[uid]

    def rename_operator(self, old: str, new: str) -> None:
        operator = self.operators.pop(old)
        operator.uid = new
        self.operators[new] = operator
        self._new_uids = {at: new if uid == old else uid for at, uid in self._new_uids.items()}
        self._removed_states = {(new if uid == old else uid, state) for uid, state in self._removed_states}
        if old in self._removed_keys:
            self._removed_keys[new] = self._removed_keys.pop(old)

    def remove_state(self, uid: str, name: str) -> None:
        """Removes the states with a name in the program or a stored name."""
        operator = self.operator(uid)
        removed = [s for s in operator.states if name in (s.name, split_scope(s.name)[1])]
        if not removed:
            names = ", ".join(repr(s.name) for s in operator.states) or "none"
            raise StateError("NO_SUCH_STATE", f"Operator '{operator.uid}' has no state '{name}'. It has: {names}.")
        for state in removed:
            operator.states.remove(state)
            self._removed_states.add((operator.uid, state.name))

    def remove_keys(self, uid: str, keys: Iterable[bytes]) -> None:
        self._removed_keys.setdefault(uid, set()).update(keys)

    def replace_keys(self, uid: str, state: str, keys: Iterable[bytes]) -> None:
        """Removes the entries of keys that get new entries in a state."""
        self._replaced_keys.setdefault((uid, state), set()).update(keys)

    def copy_file(
        self, part: Savepoint, number: int, file: StateFile, writer: StateFileWriter, blocks: BlockWriter
    ) -> StateFile:
        """Copies a state file of an existing savepoint without the entries that were removed."""
        regroup = part.manifest.max_parallelism != self._max_parallelism
        with StateFileReader(part.system, part.path, file) as reader:
            for block in reader.blocks:
                uid = self._new_uids.get((number, block.operator))
                if uid is None or uid not in self.operators or (uid, block.state) in self._removed_states:
                    continue
                state = next((s for s in self.operators[uid].states if s.name == block.state), None)
                if state is None:
                    continue
                flat = self._remaining(uid, state, reader.read(block))
                if regroup:
                    flat = _regroup(state.kind, flat, self._max_parallelism)
                if flat:
                    blocks.write(writer, uid, state, flat)
        return writer.close()

    def _remaining(self, uid: str, state: SavedState, flat: list[bytes]) -> list[bytes]:
        removed = self._removed_keys.get(uid, set())
        replaced = self._replaced_keys.get((uid, state.name), set())
        if not removed and not replaced:
            return flat
        scope, _ = split_scope(state.name)
        remaining: list[bytes] = []
        for stored, value in zip(flat[::2], flat[1::2], strict=True):
            key = parse_entry_key(state.kind, scope, stored).key
            if key not in removed and key not in replaced:
                remaining += (stored, value)
        return remaining


def _regroup(kind: str, flat: list[bytes], max_parallelism: int) -> list[bytes]:
    pairs = sorted((with_key_group(kind, s, max_parallelism), v) for s, v in zip(flat[::2], flat[1::2], strict=True))
    return [part for pair in pairs for part in pair]
