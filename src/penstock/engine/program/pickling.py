"""Pickles programs, with the functions and classes that other processes cannot import."""

from __future__ import annotations

import ast
import io
import pickle
import sys
import uuid
from collections.abc import Iterator
from typing import Any, ForwardRef, TypeVar, get_args

import cloudpickle

from penstock.connectors.secret import allow_pickling_secrets
from penstock.engine.program.class_pickling import reduce_class, reduce_sentinel
from penstock.engine.program.program import Program
from penstock.engine.program.unpicklable import unpicklable_error
from penstock.runtime.user_classes import ProgramClasses

T = TypeVar("T")
_MAIN = "__main__"
_DATA_CLASSES = ("penstock.row", "penstock.types", "penstock.windows.window", "penstock.errors")  # modules


class ProgramPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Extends cloudpickle so that classes which are pickled by value work as the originals do.

    With `copy`, classes that extend a class of Penstock, such as functions, are copied even in this process. Other classes are
    the originals there, since elements are objects of them.
    """

    def __init__(self, file: io.BytesIO, copy: str = "") -> None:
        super().__init__(file, protocol=5)
        self.classes: dict[type, None] = {}  # that were pickled by value, in their order
        self._copy = copy

    def reducer_override(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        if not isinstance(obj, type):
            return reduced if reduced is not NotImplemented else reduce_sentinel(obj) or NotImplemented
        if reduced is NotImplemented or len(reduced) < 6:  # the class can be imported
            return reduced
        self.classes[obj] = None
        return reduce_class(obj, reduced, self._copy if self._copy and _is_function_class(obj) else "")


def _is_function_class(kind: type) -> bool:
    """Whether objects of a class are functions, sources or other parts of a program, and not elements."""
    modules = (base.__module__ for base in kind.__mro__)
    return any(m.startswith("penstock.") and not m.startswith(_DATA_CLASSES) for m in modules)


def pickle_by_value(value: Any) -> bytes:
    """Pickles a value with all functions and classes that cannot be imported. `pickle.loads` reads it in any process."""
    buffer = io.BytesIO()
    with allow_pickling_secrets():
        ProgramPickler(buffer).dump(value)
    return buffer.getvalue()


def copy_by_value(value: T) -> T:
    """Returns a copy, as another process would get it."""
    copy: T = pickle.loads(pickle_by_value(value))
    return copy


def pickle_with_classes(value: Any) -> bytes:
    """Pickles a program or function for other processes, with all classes of the main module. `load_with_classes` reads it."""
    buffer = io.BytesIO()
    with allow_pickling_secrets():
        pickler = ProgramPickler(buffer)
        pickler.dump(value)
        # The pickler remembers what it has written, so these refer to the classes in the program.
        pickler.dump(_main_names(dict(pickler.classes)))
        pickler.dump(list(pickler.classes))
    return buffer.getvalue()


def load_with_classes(data: bytes) -> tuple[Any, ProgramClasses]:
    """Returns a new copy of the value, and its classes, which are the same for all copies in this process."""
    unpickler = pickle.Unpickler(io.BytesIO(data))
    value, main_names, classes = unpickler.load(), unpickler.load(), unpickler.load()
    return value, ProgramClasses(classes, main_names)


class ProgramCopies:
    """Copies of a program in this process. They share no functions with the original."""

    def __init__(self, program: Program) -> None:
        buffer = io.BytesIO()
        pickler = ProgramPickler(buffer, copy=uuid.uuid4().hex)
        try:
            with allow_pickling_secrets():
                pickler.dump(program)
        except Exception as error:
            raise unpicklable_error(program, error, pickle_by_value) from error
        self._pickled = buffer.getvalue()
        self.classes = ProgramClasses(pickler.classes)

    def new(self) -> Program:
        copy: Program = pickle.loads(self._pickled)
        return copy


def activate_classes(program: Program) -> None:
    """Makes the classes of a program known to `pickle.loads` in the process that defines them."""
    ProgramCopies(program).classes.activate()


# -- names of the main module


def _main_names(classes: dict[type, None]) -> dict[str, Any]:
    """The classes of the main module, and the names that annotations of classes use. What cannot be pickled is left out."""
    main = vars(sys.modules[_MAIN])
    names = _picklable({n: v for n, v in main.items() if isinstance(v, type) and v.__module__ == _MAIN}, classes)
    used = {name for kind in classes if kind.__module__ == _MAIN for name in _annotation_names(kind)}
    return names | _picklable({name: main[name] for name in sorted(used - names.keys()) if name in main}, classes)


def _picklable(values: dict[str, Any], classes: dict[type, None]) -> dict[str, Any]:
    """The values that can be pickled. Adds the classes that are pickled with them to `classes`."""
    pickler = ProgramPickler(io.BytesIO())
    try:
        pickler.dump(values)
    except Exception:
        if len(values) == 1:
            return {}
        return {n: v for name, value in values.items() for n, v in _picklable({name: value}, classes).items()}
    classes |= pickler.classes
    return values


def _annotation_names(kind: type) -> Iterator[str]:
    """The names in annotations that are text, which are looked up when a worker needs the types."""
    for annotation in vars(kind).get("__annotations__", {}).values():
        yield from _names_in(annotation)


def _names_in(annotation: Any) -> Iterator[str]:
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        for part in get_args(annotation):
            yield from _names_in(part)
        return
    try:
        parsed = ast.parse(annotation, mode="eval")
    except SyntaxError:
        return
    for part in ast.walk(parsed):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):  # list["Order"]
            yield from _names_in(part.value)
