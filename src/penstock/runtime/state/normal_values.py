"""Normal values: values in the form in which a state of their declared type returns them after a restore.

The test of a type is compiled to one expression, because it runs whenever a value is written. It never accepts a value that
would change, but it may reject one that would not. The codec then encodes and decodes the value to find out.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import types
import typing
import uuid
from collections.abc import Callable, Iterable
from functools import lru_cache
from textwrap import dedent, indent
from typing import Any

import msgspec

from penstock.row import Row
from penstock.time import Instant
from penstock.types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    PythonTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from penstock.types.basic import RANGES
from penstock.types.collection import BytesTypeInfo, SequenceTypeInfo
from penstock.types.visitor import DefaultTypeVisitor

Normalise = Callable[[Any], Any]

_INT64 = RANGES[BasicType.LONG]


def compile_normal(type_info: TypeInformation, convert: Normalise) -> Normalise:
    """Returns a function that returns values in normal form unchanged and calls `convert` for all others.

    >>> from penstock.types import Types
    >>> normal = compile_normal(Types.TUPLE([Types.LONG(), Types.STRING()]), lambda value: "converted")
    >>> normal((1, "a")), normal([1, "a"])
    ((1, 'a'), 'converted')
    """
    return compile_writer(type_info, convert, "value", "return value", {})


def compile_writer(
    type_info: TypeInformation, convert: Normalise, parameters: str, body: str, names: dict[str, Any]
) -> Callable[..., Any]:
    """Compiles a function with a parameter `value`, which has its normal form when the body runs. `names` are used by the body.

    The body is part of the function because a second call would take longer than the test of most values.
    """
    tests = _Tests()
    test = tests.visit(type_info)
    text = None if test is None else test("value", "value")
    return compile_function(text, parameters, body, {**tests.names, **names, "convert": convert})


def compile_function(test: str | None, parameters: str, body: str, names: dict[str, Any]) -> Callable[..., Any]:
    """Compiles a function that calls `convert` unless the value passes the test, and then executes the body."""
    check = "value = convert(value)"
    if test is not None and "." not in test and "map(" not in test:  # it reads no fields of objects
        check = f"if not ({test}):\n        value = convert(value)"
    elif test is not None:
        check = f"""try:
        normal = {test}
    except (AttributeError, TypeError):  # a field was never set
        normal = False
    if not normal:
        value = convert(value)"""
    source = f"def function({parameters}):\n    {check}\n{indent(dedent(body), '    ')}\n"
    names = {**names}
    exec(_compile_source(source), names)
    function: Callable[..., Any] = names["function"]
    return function


@lru_cache(maxsize=1000)
def _compile_source(source: str) -> types.CodeType:
    """Compiles a text once per process, because each subtask opens the same states. The result depends on nothing else."""
    return compile(source, __file__, "exec")  # the file name hides it when an error is located in the program


# Two texts to a condition: the expression of the value, used once and first, and the name to which it is bound.
_Test = Callable[[str, str], str]


class _Tests(DefaultTypeVisitor[_Test | None]):
    """Builds conditions. None stands for a type without a test."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"plain": _is_plain}
        self._within: list[Any] = []  # classes whose fields are being visited

    # -- types of the catalogue

    def visit_default(self, type_info: TypeInformation) -> _Test | None:
        return None

    def visit_basic(self, type_info: BasicTypeInfo) -> _Test | None:
        kind = type_info.basic_type
        if kind in RANGES:
            return _int_test(*RANGES[kind])
        if kind is BasicType.CHAR:
            return lambda first, name: f"type({first}) is str and len({name}) == 1"
        return self._scalar({BasicType.BIG_INT: int, BasicType.BIG_DEC: decimal.Decimal}.get(kind) or type_info.kind)

    def visit_instant(self, type_info: BasicTypeInfo) -> _Test:
        return self._of_class(Instant)

    def visit_date(self, type_info: DateTypeInfo) -> _Test:
        return self._of_class(datetime.date)

    def visit_time(self, type_info: TimeTypeInfo) -> _Test:
        return self._of_class(datetime.time, "{name}.tzinfo is None")

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> _Test:
        return self._of_class(datetime.datetime, "{name}.tzinfo is None")

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> _Test:
        return self._of_class(bytes)

    def visit_list(self, type_info: SequenceTypeInfo) -> _Test | None:
        element = self.visit(type_info.element_type)
        if not isinstance(type_info, PrimitiveArrayTypeInfo):
            element = _nullable(element)
        element_class = {Types.STRING(): str, Types.DOUBLE(): float}.get(type_info.element_type)
        return self._collection(list, element, element_class)

    def visit_map(self, type_info: MapTypeInfo) -> _Test | None:
        return self._mapping(self.visit(type_info.key_type), _nullable(self.visit(type_info.value_type)))

    def visit_tuple(self, type_info: TupleTypeInfo) -> _Test | None:
        return self._items(self._of_class(tuple), "", [_nullable(self.visit(t)) for t in type_info.field_types])

    def visit_row(self, type_info: RowTypeInfo) -> _Test | None:
        names = self._constant(type_info.get_field_names())
        row = self._of_class(Row, f"{{name}}._fields == {names}")
        return self._items(row, "._values", [_nullable(self.visit(t)) for t in type_info.field_types])

    # -- Python annotations

    def visit_python(self, type_info: PythonTypeInfo) -> _Test | None:
        return self._annotation(type_info.python_type)

    def _annotation(self, annotation: Any) -> _Test | None:
        if annotation is int:
            return _int_test(*_INT64)
        if annotation is type(None):
            return lambda first, name: f"{first} is None"
        if (isinstance(annotation, type) and annotation in _SCALARS) or _is_enum(annotation):
            return self._scalar(annotation)
        if annotation in (list, dict):
            return self._of_class(annotation, "plain({name})")
        origin, args = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in (typing.Union, types.UnionType):
            return _any_of([self._annotation(a) for a in args])
        if origin is tuple and len(args) == 2 and args[1] is ...:
            return self._collection(tuple, self._annotation(args[0]), args[0])
        if origin is tuple:
            return self._items(self._of_class(tuple), "", [self._annotation(a) for a in args])
        if origin in (list, set, frozenset):
            return self._collection(origin, self._annotation(args[0]), args[0])
        if origin is dict:
            return self._mapping(self._annotation(args[0]), self._annotation(args[1]))
        return self._record(annotation) if origin is None and isinstance(annotation, type) else None

    def _scalar(self, kind: type) -> _Test:
        return self._of_class(kind, _SCALARS.get(kind, ""))

    def _record(self, kind: type) -> _Test | None:
        """The test of a Struct, a dataclass or a named tuple without own code that runs when it is decoded."""
        fields = None if kind in self._within or hasattr(kind, "__post_init__") else _fields(kind)
        if fields is None:
            return None
        self._within.append(kind)
        tests = {name: self._annotation(annotation) for name, annotation in fields.items()}
        self._within.pop()
        parts = [(f".{name}", test) for name, test in tests.items()]
        return self._parts(self._of_class(kind), parts)

    # -- building blocks

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def _of_class(self, kind: type, condition: str = "") -> _Test:
        constant = self._constant(kind)
        suffix = f" and {condition}" if condition else ""
        return lambda first, name: f"type({first}) is {constant}" + suffix.format(name=name)

    def _items(self, whole: _Test, path: str, tests: list[_Test | None]) -> _Test | None:
        count = len(tests)
        sized: _Test = lambda first, name: f"{whole(first, name)} and len({name}{path}) == {count}"  # noqa: E731
        return self._parts(sized, [(f"{path}[{i}]", test) for i, test in enumerate(tests)])

    def _parts(self, whole: _Test, parts: list[tuple[str, _Test | None]]) -> _Test | None:
        """The test of a value and of its parts, each given by the text that follows the name of the value."""
        known = [(path, test, self._constant(None)) for path, test in parts if test is not None]
        if len(known) < len(parts):
            return None
        return lambda first, name: " and ".join(
            [whole(first, name), *(f"({test(f'({part} := {name}{path})', part)})" for path, test, part in known)]
        )

    def _collection(self, kind: type, element: _Test | None, element_class: Any = None) -> _Test | None:
        if element is None:
            return None
        test = self._constant(self._function(element))
        condition = f"all(map({test}, {{name}}))"
        if element_class in (str, float, bool, bytes):  # then most collections need no call per element
            condition = f"({self._constant({element_class})}.issuperset(map(type, {{name}})) or {condition})"
        return self._of_class(kind, condition)

    def _mapping(self, key: _Test | None, value: _Test | None) -> _Test | None:
        if key is None or value is None:
            return None
        of_key, of_value = self._constant(self._function(key)), self._constant(self._function(value))
        return self._of_class(dict, f"all(map({of_key}, {{name}})) and all(map({of_value}, {{name}}.values()))")

    def _function(self, test: _Test) -> Callable[[Any], bool]:
        found: Callable[[Any], bool] = eval(f"lambda value: {test('value', 'value')}", self.names)
        return found


_SCALARS: dict[type, str] = {
    bool: "",
    int: "",
    float: "",
    str: "",
    bytes: "",
    decimal.Decimal: "{name}.is_finite()",
    datetime.date: "",
    datetime.time: "{name}.tzinfo is None",
    datetime.datetime: "{name}.tzinfo is None",
    datetime.timedelta: "",
    uuid.UUID: "",
}


def _int_test(low: int, high: int) -> _Test:
    """The test of a range that is all numbers of some bits. A shift is faster than two comparisons."""
    bits = high.bit_length()
    assert (low, high) == (-(1 << bits), (1 << bits) - 1)
    return lambda first, name: f"type({first}) is int and (not {name} >> {bits} or {name} >> {bits} == -1)"


def _nullable(test: _Test | None) -> _Test | None:
    return None if test is None else lambda first, name: f"{test(first, name)} or {name} is None"


def _any_of(tests: list[_Test | None]) -> _Test | None:
    known = [test for test in tests if test is not None]
    if len(known) < len(tests):
        return None
    return lambda first, name: " or ".join(f"({t(name if i else first, name)})" for i, t in enumerate(known))


def _is_enum(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, enum.Enum) and not issubclass(annotation, enum.Flag)


def _fields(kind: type) -> dict[str, Any] | None:
    """Returns the annotations of the fields that are decoded as they were encoded. None for other classes."""
    try:
        if issubclass(kind, msgspec.Struct):
            return {f.name: f.type for f in msgspec.structs.fields(kind)}
        if dataclasses.is_dataclass(kind):
            hints = typing.get_type_hints(kind, include_extras=True)
            fields = dataclasses.fields(kind)
            return {f.name: hints[f.name] for f in fields} if all(f.init for f in fields) else None
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            hints = typing.get_type_hints(kind, include_extras=True)
            return {name: hints[name] for name in kind._fields}
    except (NameError, KeyError, TypeError, AttributeError):
        pass  # an annotation that cannot be resolved here
    return None


_PLAIN = frozenset({str, float, bool, bytes, type(None)})


def _is_plain(value: Any) -> bool:
    """Whether a value of any type consists of plain values, lists and dicts."""
    kind = type(value)
    if kind is list:
        return _all_plain(value)
    if kind is dict:
        return _all_plain(value) and _all_plain(value.values())
    return kind in _PLAIN or (kind is int and _INT64[0] <= value <= _INT64[1])


def _all_plain(values: Iterable[Any]) -> bool:
    return _PLAIN.issuperset(map(type, values)) or all(map(_is_plain, values))
