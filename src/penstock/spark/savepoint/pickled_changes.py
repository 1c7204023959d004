"""Reads the type changes of a restored job as earlier versions stored them, in a pickle."""

from __future__ import annotations

import io
import pickle
from typing import Any

import msgspec

from penstock.savepoints.manifest import SavedState
from penstock.savepoints.type_changes import ChangedKeys, ChangedState, TypeChanges


class _KeyChange:
    """Stands for `penstock.savepoints.key_change.KeyChange`, whose first field is the saved key type."""

    saved: Any

    def __setstate__(self, state: list[Any]) -> None:
        self.saved = state[0]


class _Unused:
    """Stands for any other class of Penstock. The current program supplies descriptors and types."""

    def __new__(cls, *args: Any, **kwargs: Any) -> _Unused:
        return super().__new__(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        pass


def _make_struct(
    identity: str,
    name: str,
    fields: list[Any],
    bases: tuple[type, ...],
    methods: dict[str, Any],
    options: dict[str, Any],
) -> type:
    """Creates a Struct class of the main module, as it was stored."""
    own_fields = [
        (name, kind, msgspec.field(**stored)) if stored else (name, kind)
        for name, kind, stored in fields
        if not any(name in getattr(b, "__struct_fields__", ()) for b in bases)
    ]
    return msgspec.defstruct(name, own_fields, bases=bases, module="__main__", namespace=methods, **options)


# By the module paths and names of the versions that wrote pickles.
_CLASSES: dict[tuple[str, str], Any] = {
    ("penstock.savepoints.manifest", "SavedState"): SavedState,
    ("penstock.savepoints.key_change", "KeyChange"): _KeyChange,
    ("penstock.spark.pickling", "_make_struct"): _make_struct,
}


class _Unpickler(pickle.Unpickler):
    """Imports no module of Penstock, since modules may have moved after the pickle was written."""

    def find_class(self, module: str, name: str) -> Any:
        if module == "penstock" or module.startswith("penstock."):
            return _CLASSES.get((module, name), _Unused)
        return super().find_class(module, name)


def read_pickled_changes(data: bytes) -> TypeChanges:
    """Type changes from a pickle. The modules of the job's program must be importable."""
    states, keys = _Unpickler(io.BytesIO(data)).load()
    return TypeChanges(
        [ChangedState(operator, saved) for (operator, _), (saved, _) in states.items()],
        [ChangedKeys(operator, change.saved) for operator, change in keys.items()],
    )
