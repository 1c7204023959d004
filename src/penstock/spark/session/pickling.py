"""Programs as bytes: functions and classes of the user's main module travel whole, and workers know them by name.

Workers then pickle elements of those classes by reference, as they would any other class.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import types
import uuid
import weakref
from typing import Any

import cloudpickle
import msgspec
from pyspark import SparkFiles

from penstock import pyflink
from penstock.connectors.secret import secrets_may_travel
from penstock.engine.program import Program
from penstock.engine.unpicklable import unpicklable
from penstock.types.evolution import Evolution

_ids: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()
_known: weakref.WeakValueDictionary[str, type] = weakref.WeakValueDictionary()  # the same, by id
_MSGSPEC_CACHE = "__msgspec_cache__"


class ProgramPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Cloudpickle, and msgspec Structs by value: cloudpickle alone would lose their fields."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) and issubclass(obj, msgspec.Struct) and obj.__module__ == "__main__":
            return _reduced_struct(obj)
        if isinstance(obj, type) and _MSGSPEC_CACHE in vars(obj):  # left by a codec on the driver; it cannot be pickled
            delattr(obj, _MSGSPEC_CACHE)
        return super().reducer_override(obj)


def _reduced_struct(struct: type[msgspec.Struct]) -> Any:
    fields: list[Any] = []
    for field in msgspec.structs.fields(struct):
        stored: Any = {} if field.name == field.encode_name else {"name": field.encode_name}
        if field.default_factory is not msgspec.NODEFAULT:
            stored["default_factory"] = field.default_factory
        elif field.default is not msgspec.NODEFAULT:
            stored["default"] = field.default
        fields.append((field.name, field.type, stored))
    config = struct.__struct_config__
    options = {
        n: getattr(config, n)
        for n in (
            "frozen",
            "eq",
            "order",
            "array_like",
            "gc",
            "tag",
            "tag_field",
            "omit_defaults",
            "forbid_unknown_fields",
        )
    }
    methods = {
        n: v
        for n, v in vars(struct).items()
        if isinstance(v, (types.FunctionType, classmethod, staticmethod, property, Evolution))
    }
    identity = _ids.setdefault(struct, uuid.uuid4().hex)
    _known[identity] = struct
    bases = tuple(b for b in struct.__bases__)
    return _make_struct, (identity, struct.__name__, fields, bases, methods, options)


def _make_struct(
    identity: str,
    name: str,
    fields: list[Any],
    bases: tuple[type, ...],
    methods: dict[str, Any],
    options: dict[str, Any],
) -> type:
    """The same class however often it is unpickled; where it comes from, the class itself."""
    struct: type | None = _known.get(identity)
    if struct is None:
        own = [
            (name, kind, msgspec.field(**stored)) if stored else (name, kind)
            for name, kind, stored in fields
            if not any(name in getattr(b, "__struct_fields__", ()) for b in bases)
        ]
        struct = msgspec.defstruct(name, own, bases=bases, module="__main__", namespace=methods, **options)
        _ids[struct], _known[identity] = identity, struct
    return struct


def pickle_program(program: Program, archives: list[str]) -> bytes:
    """A program with the classes of the user's main module, and the shipped archives that it needs on the path."""
    main = sys.modules["__main__"]
    mine = {n: v for n, v in vars(main).items() if isinstance(v, type) and v.__module__ == "__main__"}
    try:
        return pickle.dumps((archives, _home(main), pyflink.installed(), _dumps((mine, program))), 5)
    except Exception as error:
        raise unpicklable(program, error, _dumps) from error


def pickle_value(value: Any) -> bytes:
    """Anything that is to be opened where the program is, or was: it finds the same classes there."""
    return _dumps(value)


def pickle_elements(value: Any) -> bytes:
    """Elements, and what sinks make of them, for another process of the job: it knows the program's classes by name."""
    try:
        return pickle.dumps(value, 5)
    except Exception:  # what has no name there, such as a function in a function, travels whole
        return _dumps(value)


def _dumps(thing: Any) -> bytes:
    buffer = io.BytesIO()
    with secrets_may_travel():
        ProgramPickler(buffer, protocol=5).dump(thing)
    return buffer.getvalue()


def _home(main: types.ModuleType) -> str:
    """The folder of the user's program, with the modules that it imports from beside its own file."""
    file = getattr(main, "__file__", None)
    return os.path.dirname(os.path.abspath(file)) if file else ""


def unpickle_program(data: bytes) -> Program:
    """A fresh copy of a program: subtasks do not share their functions."""
    archives, home, as_pyflink, inner = pickle.loads(data)
    if (
        os.path.isdir(home) and home not in sys.path
    ):  # Spark's processes on the driver's machine do not see shipped modules
        sys.path.append(home)
    if as_pyflink:  # the user's modules, which are imported here, import it too
        pyflink.install()
    for name in archives:
        path = SparkFiles.get(name)
        if path not in sys.path:
            sys.path.append(path)
    mine, program = cloudpickle.loads(inner)
    main = sys.modules["__main__"]
    for name, value in mine.items():
        setattr(main, name, value)
    return program  # type: ignore[no-any-return]
