"""The type changes of a restored job, stored in its checkpoint until every slot has loaded its state.

The file holds the saved types and the names of the operators and states, and no Python class. The types that values and keys are
rewritten to come from the program that loads them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.engine.program.declared_state import declared_states, key_types
from penstock.engine.program.program import Program
from penstock.errors import StateError
from penstock.runtime.state.evolution.describe import describe_key
from penstock.savepoints.evolution import DeclaredState, KeyChange, KeyChanges, StateChanges
from penstock.savepoints.manifest import SavedState
from penstock.state import StateDescriptor


class ChangedState(msgspec.Struct, omit_defaults=True):
    """A state whose values are rewritten."""

    operator: str  # uid
    saved: SavedState
    type: str = ""  # the new type as JSON; empty: not known (files of older versions)


class ChangedKeys(msgspec.Struct, omit_defaults=True):
    """An operator whose keys are rewritten."""

    operator: str  # uid
    saved: Any = None  # the key type of the savepoint as JSON; None: no type was declared
    type: Any = None  # the new key type as JSON; None: not known (files of older versions)


class TypeChanges(msgspec.Struct, omit_defaults=True):
    """All states and keys of a savepoint that are rewritten when slots load them."""

    states: list[ChangedState] = []
    keys: list[ChangedKeys] = []

    def state_changes(self, program: Program) -> StateChanges:
        """Saved states and the states of a program that they become.

        Raises:
            StateError: the program no longer declares one of the states with the type that the restore was planned for.
        """
        descriptors = self._descriptors(program)
        changes: StateChanges = {}
        for state in self.states:
            at = state.operator, state.saved.name
            description = DeclaredState(state.saved.name, descriptors[at]) if at in descriptors else None
            if description is None or (state.type and description.type != state.type):
                raise _changed_again(f"State '{state.saved.name}' of operator '{state.operator}' has")
            changes[at] = state.saved, description
        return changes

    def key_changes(self, program: Program) -> KeyChanges:
        """Saved key types and the key types of a program, by uid."""
        types = key_types(program)
        changes: KeyChanges = {}
        for keys in self.keys:
            current = types.get(keys.operator)
            if current is None or (keys.type is not None and describe_key(current).to_builtins() != keys.type):
                raise _changed_again(f"The keys of operator '{keys.operator}' have")
            changes[keys.operator] = KeyChange(keys.saved, current)
        return changes

    def _descriptors(self, program: Program) -> dict[tuple[str, str], StateDescriptor]:
        """The descriptors of the changed states.

        A program that starts from a savepoint carries them. One that resumes the checkpoint before its first batch was
        committed does not, so its functions are opened once to collect them.
        """
        if program.changed_states:
            return program.changed_states
        declared = declared_states(program, {state.operator for state in self.states})
        return {(uid, name): d for uid, states in declared.items() for name, d in states.states.items()}


def encode_type_changes(states: StateChanges, keys: KeyChanges) -> bytes:
    """The JSON text that `decode_type_changes` reads."""
    changes = TypeChanges(
        [ChangedState(operator, saved, new.type) for (operator, _), (saved, new) in states.items()],
        [ChangedKeys(uid, change.saved, describe_key(change.declared).to_builtins()) for uid, change in keys.items()],
    )
    return msgspec.json.encode(changes)


def decode_type_changes(data: bytes) -> TypeChanges:
    return msgspec.json.decode(data, type=TypeChanges)


def _changed_again(subject: str) -> StateError:
    return StateError(
        "STATE_CHANGED",
        f"{subject} another type than when the job was started from its savepoint, and the savepoint is not loaded yet. Change "
        "the program back, or start it again with --from-savepoint instead of --resume.",
    )
