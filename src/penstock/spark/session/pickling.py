"""Pickles programs. Functions and classes of the user's main module are pickled by value and get their names in the worker.

Workers then pickle elements of those classes by reference, like those of any other class.
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
from penstock.connectors.secret import allow_pickling_secrets
from penstock.engine.program.program import Program
from penstock.engine.program.unpicklable import unpicklable_error
from penstock.types.evolution import Evolution

_ids: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()
_known: weakref.WeakValueDictionary[str, type] = weakref.WeakValueDictionary()  # structs by id
_MSGSPEC_CACHE = "__msgspec_cache__"


class ProgramPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Extends cloudpickle to msgspec Structs by value, because cloudpickle would lose their fields."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) and issubclass(obj, msgspec.Struct) and obj.__module__ == "__main__":
            return _reduce_struct(obj)
        if isinstance(obj, type) and _MSGSPEC_CACHE in vars(obj):  # set by a codec on the driver, and not picklable
            delattr(obj, _MSGSPEC_CACHE)
        return super().reducer_override(obj)


def _reduce_struct(struct: type[msgspec.Struct]) -> Any:
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
    return make_struct, (identity, struct.__name__, fields, bases, methods, options)


def make_struct(
    identity: str,
    name: str,
    fields: list[Any],
    bases: tuple[type, ...],
    methods: dict[str, Any],
    options: dict[str, Any],
) -> type:
    """Creates a Struct class once per process. In the process that pickled it, returns the original class."""
    struct: type | None = _known.get(identity)
    if struct is None:
        own_fields = [
            (name, kind, msgspec.field(**stored)) if stored else (name, kind)
            for name, kind, stored in fields
            if not any(name in getattr(b, "__struct_fields__", ()) for b in bases)
        ]
        struct = msgspec.defstruct(name, own_fields, bases=bases, module="__main__", namespace=methods, **options)
        _ids[struct], _known[identity] = identity, struct
    return struct


def pickle_program(program: Program, archives: list[str]) -> bytes:
    """A program with the classes of the user's main module, and the names of archives that workers put on their path."""
    main = sys.modules["__main__"]
    classes = {n: v for n, v in vars(main).items() if isinstance(v, type) and v.__module__ == "__main__"}
    try:
        return pickle.dumps((archives, _program_folder(main), pyflink.is_installed(), _dumps((classes, program))), 5)
    except Exception as error:
        raise unpicklable_error(program, error, _dumps) from error


def pickle_value(value: Any) -> bytes:
    """Pickles a value for a process that has the program, and so the same classes."""
    return _dumps(value)


def pickle_elements(value: Any) -> bytes:
    """Pickles elements for another process of the job, which can import the classes of the program."""
    try:
        return pickle.dumps(value, 5)
    except Exception:  # objects without an importable name, such as nested functions, are pickled by value
        return _dumps(value)


def _dumps(value: Any) -> bytes:
    buffer = io.BytesIO()
    with allow_pickling_secrets():
        ProgramPickler(buffer, protocol=5).dump(value)
    return buffer.getvalue()


def _program_folder(main: types.ModuleType) -> str:
    """The folder of the user's program, which may contain modules that it imports."""
    file = getattr(main, "__file__", None)
    return os.path.dirname(os.path.abspath(file)) if file else ""


def unpickle_program(data: bytes) -> Program:
    """A new copy of a program. Subtasks do not share functions."""
    archives, folder, as_pyflink, pickled = pickle.loads(data)
    if (
        os.path.isdir(folder) and folder not in sys.path
    ):  # Spark's processes on the driver machine have no shipped modules
        sys.path.append(folder)
    if as_pyflink:  # the user's modules may import it
        pyflink.install()
    for name in archives:
        path = SparkFiles.get(name)
        if path not in sys.path:
            sys.path.append(path)
    classes, program = cloudpickle.loads(pickled)
    main = sys.modules["__main__"]
    for name, value in classes.items():
        setattr(main, name, value)
    return program  # type: ignore[no-any-return]
