"""Compares the first keys of an operator with the keys of its restored state, if no key type is declared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.engine.program.program import OperatorProgram
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import CheckpointError
from penstock.runtime.failure import short_repr
from penstock.runtime.state.evolution.key_forms import form_text, forms_text, is_same_form, key_form
from penstock.runtime.state.keys import encode_key


def check_first_keys(
    meta: SlotMetadata, operator: OperatorProgram, keys: Sequence[Any], inputs: Sequence[int] | None = None
) -> None:
    """Raises an error if no key of the first elements has the form of a restored key. Later elements are not checked.

    Elements of a broadcast stream have the key None.
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
        if not any(is_same_form(form, known) for form in found for known in saved):
            raise CheckpointError(
                "SAVEPOINT_KEYS_CHANGED",
                f"The keys of operator '{operator.uid}' are of type {form_text(found[0])} (such as "
                f"{short_repr(next(iter(distinct)))}), but the savepoint has keys of type {forms_text(saved)}, so no element "
                "would find its state. Nothing was processed. Change the key selector back, declare key_type with a migrate "
                "function in key_by to convert the saved keys, or set another uid for the operator. With "
                "--allow-dropped-state the job starts without the state of the saved keys.",
            )
    del meta.key_forms[operator.uid]
