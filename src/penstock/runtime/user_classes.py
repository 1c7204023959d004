"""Classes of the user's program that other processes cannot import: those of the main script, of a notebook and of functions.

A program contains such classes by value (`engine/program/class_pickling.py`). Each process creates a class once and finds it
again by its identity. Objects of classes without an importable name are pickled with the name of the class in the program.
"""

from __future__ import annotations

import sys
import uuid
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.errors import StateError

_identities: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()
_classes: weakref.WeakValueDictionary[str, type] = weakref.WeakValueDictionary()  # by identity
_incomplete: weakref.WeakSet[type] = weakref.WeakSet()  # created, but without their attributes yet


def class_identity(kind: type) -> str:
    """Returns the identity of a class, which is the same in all processes that have a copy of it."""
    identity = _identities.get(kind)
    if identity is None:
        identity = _identities[kind] = uuid.uuid4().hex
        _classes[identity] = kind
    return identity


def find_or_create_class(identity: str, create: Callable[..., type], arguments: tuple[Any, ...]) -> type:
    """Returns the class with an identity. In the process that defines the class, this is the original."""
    kind = _classes.get(identity)
    if kind is None:
        kind = create(*arguments)
        _identities[kind], _classes[identity] = identity, kind
        _incomplete.add(kind)
    return kind


def complete_class(kind: type, state: tuple[str, Callable[[type, Any], object], Any]) -> None:
    """Sets the attributes of a class that `find_or_create_class` has created. Other classes are not changed."""
    if kind in _incomplete:
        kind.__qualname__, set_attributes, attributes = state  # errors find the definition by the qualified name
        set_attributes(kind, attributes)
        _incomplete.discard(kind)


class ProgramClasses:
    """The classes that a program contains by value, each with a name that is the same in every run of the program.

    `main_names` are names that must exist in the main module of a worker, because objects are pickled with them and annotations
    use them.
    """

    def __init__(self, classes: Iterable[type] = (), main_names: Mapping[str, Any] | None = None) -> None:
        self._main_names = dict(main_names or {})
        self._by_name: dict[str, type] = {}
        for kind in classes:
            name, number = f"{kind.__module__}:{kind.__qualname__}", 1
            while (unique := name if number == 1 else f"{name}#{number}") in self._by_name:
                number += 1  # a function that defines a class was called more than once
            self._by_name[unique] = kind
        self._names = {kind: name for name, kind in self._by_name.items()}

    def activate(self) -> None:
        """Makes these the classes that objects are pickled and unpickled with. A worker may run tasks of several jobs."""
        global _active
        if _active is not self:
            _active = self
            for name, value in self._main_names.items():
                setattr(sys.modules["__main__"], name, value)

    def name_of(self, kind: type) -> str | None:
        """Returns the name of a class; None if the program does not contain it."""
        return self._names.get(kind)

    def find(self, name: str) -> type | None:
        return self._by_name.get(name)


_active = ProgramClasses()


def active_classes() -> ProgramClasses:
    """Returns the classes of the program that is running."""
    return _active


def find_class(name: str) -> type:
    """Returns the class with a name. Pickles of objects call this function."""
    kind = _active.find(name)
    if kind is None:
        kind = _find_imported(name)
    if kind is None:
        module, _, qualname = name.partition(":")
        raise StateError(
            "STATE_CLASS",
            f"A stored object is a {qualname} of module {module}, and the program has no such class. Define the class where it was "
            "defined when the object was stored, and use it in the program.",
        )
    return kind


def _find_imported(name: str) -> type | None:
    """The class if it has become an attribute of its module."""
    module, _, qualname = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in qualname.partition("#")[0].split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None
