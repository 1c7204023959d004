"""Compares the keys of an operator with the keys of its stored state, if no type was declared for the stored ones.

State is found by the encoded key. A job that starts from a savepoint is rejected if its first elements cannot find their state,
and a job that resumes a checkpoint logs a warning, because its program should be unchanged.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from penstock.engine.program.declared_state import key_types
from penstock.engine.program.program import OperatorProgram, Program
from penstock.engine.slots.entry_groups import BY_TIME, key_slice
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import CheckpointError, StateError
from penstock.runtime.failure import short_repr
from penstock.runtime.state.cell import SlotCell
from penstock.runtime.state.evolution.describe import describe_key
from penstock.runtime.state.evolution.key_forms import (
    KeyForm,
    fits_type,
    form_text,
    forms_text,
    is_same_form,
    key_form,
    key_forms,
)
from penstock.runtime.state.keys import encode_key
from penstock.runtime.state.store import Store, after_prefix
from penstock.runtime.state.tables import StateTable, StateTables
from penstock.types import TypeInformation

_NEVER_BROADCAST = (*BY_TIME, "keys")  # kinds of tables whose entries do not start with a key group
_SAMPLE = 1000  # entries per table
_log = logging.getLogger("penstock.operator")


class StoredKeys:
    """The stored keys of the operators of a slot, for comparisons."""

    def __init__(self, store: Store, tables: StateTables) -> None:
        self._store = store
        self._tables = tables

    def sample_forms(self, uid: str) -> list[KeyForm]:
        """The forms of the first keys in each table of an operator; empty if there are none, or too many forms."""
        return key_forms(key for table in self._keyed_tables(uid) for key in islice(self._keys(table), _SAMPLE))

    def has_form(self, uid: str, forms: Sequence[KeyForm]) -> bool:
        """Whether a stored key has one of the forms. May read all keys of the operator."""
        keys = (key for table in self._keyed_tables(uid) for key in self._keys(table))
        return any(is_same_form(form, key_form(key)) for key in keys for form in forms)

    def _keyed_tables(self, uid: str) -> list[StateTable]:
        return [table for table in self._tables.all() if table.operator == uid]

    def _keys(self, table: StateTable) -> Iterator[bytes]:
        prefix = table.prefix
        for name, _ in self._store.scan(prefix, after_prefix(prefix)):
            stored = name[len(prefix) :]
            if table.kind in _NEVER_BROADCAST or not stored.startswith(SlotCell.GROUP):
                yield stored[key_slice(table.kind, stored)]


class ResumedKeys:
    """Compares the keys of a resumed job with the keys in its checkpoint whose type was not declared."""

    def __init__(self, program: Program, operators: Sequence[OperatorProgram], stored: StoredKeys) -> None:
        self._forms: dict[str, list[KeyForm]] = {}  # operators whose first keys are compared
        self._stored = stored
        if not program.undeclared_keys:
            return
        declared = key_types(program)
        for operator in operators:
            if operator.uid not in program.undeclared_keys or operator.traits.generates_watermarks:  # keys are splits
                continue
            forms = stored.sample_forms(operator.uid)
            if operator.uid in declared:
                _check_declared_type(operator.uid, declared[operator.uid], forms)
            elif forms:
                self._forms[operator.uid] = forms

    def __contains__(self, uid: str) -> bool:
        """Whether the keys of an operator are compared with the next elements."""
        return uid in self._forms

    def warn_about(self, operator: OperatorProgram, keys: Sequence[Any]) -> None:
        """Logs a warning if no key of the first elements has the form of a stored key."""
        if operator.uid not in self._forms or not keys:
            return
        saved, distinct = self._forms.pop(operator.uid), {key: None for key in keys if key is not None}
        found = [key_form(encode_key(key)[0]) for key in distinct]
        if found and not _has_same_form(found, saved) and not self._stored.has_form(operator.uid, found):
            _log.warning(
                "The keys of operator '%s' are of type %s (such as %s), but the checkpoint has keys of type %s, so these "
                "elements do not find state of earlier runs. If the key selector was changed, stop the job, change it back, "
                "and resume.",
                *(operator.uid, form_text(found[0]), short_repr(next(iter(distinct))), forms_text(saved)),
            )


def _check_declared_type(uid: str, declared: TypeInformation, forms: list[KeyForm]) -> None:
    shape = describe_key(declared)
    if unfit := [form for form in forms if not fits_type(form, shape)]:
        raise StateError(
            "STATE_CHANGED",
            f"The keys of operator '{uid}' have the declared type {shape.text()} now, but the checkpoint has keys of type "
            f"{forms_text(unfit)}, so their state would not be found. Nothing was processed. Declare the type that the keys had "
            f"(key_type=...), or change the program back. To convert the keys, declare a migrate function and start with "
            "--from-savepoint and the path of the checkpoint.",
        )


def check_first_keys(
    meta: SlotMetadata,
    operator: OperatorProgram,
    stored: StoredKeys,
    keys: Sequence[Any],
    inputs: Sequence[int] | None = None,
) -> None:
    """Raises an error if no key of the first elements has the form of a restored key. Later elements are not checked.

    The forms in the metadata are from a sample. If they do not match, all keys of the slot are compared. Elements of a broadcast
    stream have the key None.
    """
    by_input: dict[int, dict[Any, None]] = {}
    for number, key in zip(inputs or [0] * len(keys), keys, strict=True):
        if key is not None:
            by_input.setdefault(number, {})[key] = None
    if not by_input:
        return
    saved = meta.key_forms[operator.uid]
    for distinct in by_input.values():
        found = [key_form(encode_key(key)[0]) for key in distinct]
        if not _has_same_form(found, saved) and not stored.has_form(operator.uid, found):
            raise CheckpointError(
                "SAVEPOINT_KEYS_CHANGED",
                f"The keys of operator '{operator.uid}' are of type {form_text(found[0])} (such as "
                f"{short_repr(next(iter(distinct)))}), but the savepoint has keys of type {forms_text(saved)}, so no element "
                "would find its state. Nothing was processed. Change the key selector back, declare key_type with a migrate "
                "function in key_by to convert the saved keys, or set another uid for the operator. If the operator has keys of "
                "several types, declare all of them, such as key_type=int | str. With --allow-dropped-state the job starts "
                "without the state of the saved keys.",
            )
    del meta.key_forms[operator.uid]


def _has_same_form(found: Sequence[KeyForm], saved: Sequence[KeyForm]) -> bool:
    return any(is_same_form(form, known) for form in found for known in saved)
