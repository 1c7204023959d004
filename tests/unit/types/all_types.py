"""Every kind of type that can be declared, with values that fit it exactly and values that are converted to it."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import typing
import uuid
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
from hypothesis import strategies as st

from penstock import Row
from penstock.types import Types
from tests.unit.types.some_types import BASIC, DATETIMES, SINGLE, TEXT

INT64 = st.integers(-(2**63), 2**63 - 1)
NUMPY_INTS = st.integers(-(2**31), 2**31 - 1).map(np.int64)
NUMPY_FLOATS = st.floats(width=32, allow_nan=False).map(np.float32) | st.floats(allow_nan=False).map(np.float64)
BERLIN = st.datetimes(datetime.datetime(1971, 1, 1), datetime.datetime(2200, 1, 1)).map(
    lambda d: d.replace(tzinfo=ZoneInfo("Europe/Berlin"), fold=0)
)
UTC = DATETIMES.map(lambda d: d.replace(tzinfo=datetime.UTC))


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(str):
    """A subclass of str."""


class Order(msgspec.Struct):
    user: str
    amount: float
    tags: list[str] = []


class Fixed(msgspec.Struct, frozen=True):
    x: int
    y: int


@dataclasses.dataclass
class Click:
    page: str
    at: datetime.datetime
    weight: float
    parts: tuple[int, ...] = ()
    more: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    x: int
    name: str


@dataclasses.dataclass
class Checked:
    """A dataclass with code that runs when it is decoded."""

    low: float
    high: float

    def __post_init__(self) -> None:
        self.low, self.high = min(self.low, self.high), max(self.low, self.high)


@dataclasses.dataclass
class Tree:
    value: float
    children: list[Tree] = dataclasses.field(default_factory=list)


class Pair(typing.NamedTuple):
    first: str
    second: float


class Settings(typing.TypedDict):
    name: str
    rate: float


class Opaque:
    """A class that can only be pickled."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"Opaque({self.value!r})"


FLOAT_OR_INT = st.floats(allow_nan=False) | st.integers(-(2**40), 2**40)

# Values of the catalogue's types that are converted when they are written.
CONVERTED: dict[str, st.SearchStrategy[Any]] = {
    "STRING": TEXT.map(Word) | TEXT.map(np.str_).filter(lambda s: "\0" not in s),
    "BOOLEAN": st.sampled_from([0, 1, np.True_]),
    "INT": st.booleans() | NUMPY_INTS | st.sampled_from([1.0, Level.HIGH]),
    "LONG": st.booleans() | NUMPY_INTS | st.sampled_from([1.0, Level.LOW]),
    "FLOAT": st.floats(-1e30, 1e30) | st.integers(-1000, 1000) | NUMPY_FLOATS,
    "DOUBLE": st.integers(-(2**40), 2**40) | NUMPY_FLOATS,
    "BIG_INT": NUMPY_INTS | st.sampled_from([2.0, True]),
    "BIG_DEC": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    "INSTANT": UTC | BERLIN,
    "SQL_DATE": DATETIMES,
    "SQL_TIME": st.times(timezones=st.just(datetime.UTC)),
    "SQL_TIMESTAMP": UTC | BERLIN,
    "BYTES": st.binary(max_size=8).map(bytearray),
}

ANNOTATIONS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": (int, INT64 | NUMPY_INTS | st.sampled_from(Level)),
    "float": (float, FLOAT_OR_INT | NUMPY_FLOATS),
    "bool": (bool, st.booleans() | st.just(np.False_)),
    "str": (str, TEXT | TEXT.map(Word)),
    "bytes": (bytes, st.binary(max_size=8) | st.binary(max_size=8).map(bytearray)),
    "bytearray": (bytearray, st.binary(max_size=8).map(bytearray)),
    "Decimal": (decimal.Decimal, st.decimals(allow_nan=False)),
    "date": (datetime.date, st.dates()),
    "time": (datetime.time, st.times().map(lambda t: t.replace(fold=0))),
    "datetime": (datetime.datetime, DATETIMES | UTC | BERLIN),
    "timedelta": (datetime.timedelta, st.timedeltas()),
    "UUID": (uuid.UUID, st.uuids()),
    "Enum": (Color, st.sampled_from(Color)),
    "IntEnum": (Level, st.sampled_from(Level)),
    "Literal": (typing.Literal["a", "b"], st.sampled_from(["a", "b"])),
    "int | None": (int | None, INT64),
    "int | str": (int | str, INT64 | TEXT),
    "Annotated": (typing.Annotated[int, "meters"], INT64),
    "list": (list, st.lists(INT64 | TEXT | st.tuples(INT64, TEXT) | st.sets(INT64, max_size=3), max_size=4)),
    "dict": (dict, st.dictionaries(TEXT, INT64 | st.tuples(INT64) | st.lists(TEXT, max_size=2), max_size=3)),
    "set": (set, st.sets(INT64 | TEXT, max_size=4)),
    "tuple": (tuple, st.tuples(INT64, TEXT | st.tuples(INT64))),
    "list[int]": (list[int], st.lists(INT64 | NUMPY_INTS, max_size=4) | st.tuples(INT64)),
    "list[float | None]": (list[float | None], st.lists(FLOAT_OR_INT | st.none(), max_size=4)),
    "list[tuple[str, float]]": (list[tuple[str, float]], st.lists(st.tuples(TEXT, FLOAT_OR_INT), max_size=3)),
    "set[str]": (set[str], st.sets(TEXT, max_size=4) | st.lists(TEXT, max_size=3)),
    "frozenset[int]": (frozenset[int], st.frozensets(INT64, max_size=4)),
    "tuple[int, str]": (tuple[int, str], st.tuples(INT64, TEXT) | st.tuples(INT64, TEXT).map(list)),
    "tuple[float, ...]": (tuple[float, ...], st.lists(FLOAT_OR_INT, max_size=3).map(tuple)),
    "dict[str, float]": (dict[str, float], st.dictionaries(TEXT, FLOAT_OR_INT, max_size=3)),
    "dict[int, list[str]]": (dict[int, list[str]], st.dictionaries(INT64, st.lists(TEXT, max_size=2), max_size=3)),
    "dict[tuple[int, int], str]": (
        dict[tuple[int, int], str],
        st.dictionaries(st.tuples(INT64, INT64), TEXT, max_size=3),
    ),
    "Struct": (Order, st.builds(Order, TEXT, FLOAT_OR_INT, st.lists(TEXT, max_size=2))),
    "frozen Struct": (Fixed, st.builds(Fixed, INT64, INT64)),
    "dataclass": (
        Click,
        st.builds(
            Click, TEXT, DATETIMES | BERLIN, FLOAT_OR_INT | NUMPY_FLOATS, st.tuples(INT64) | st.lists(INT64, max_size=2)
        ),
    ),
    "frozen dataclass": (Point, st.builds(Point, INT64 | NUMPY_INTS, TEXT)),
    "dataclass from dict": (Point, st.fixed_dictionaries({"x": INT64, "name": TEXT})),
    "dataclass with __post_init__": (Checked, st.builds(Checked, FLOAT_OR_INT, FLOAT_OR_INT)),
    "recursive dataclass": (Tree, st.builds(Tree, FLOAT_OR_INT, st.lists(st.builds(Tree, FLOAT_OR_INT), max_size=2))),
    "NamedTuple": (Pair, st.builds(Pair, TEXT, FLOAT_OR_INT)),
    "TypedDict": (Settings, st.fixed_dictionaries({"name": TEXT, "rate": FLOAT_OR_INT})),
    "list[Struct]": (list[Order], st.lists(st.builds(Order, TEXT, FLOAT_OR_INT), max_size=2)),
    "opaque class": (Opaque, st.builds(Opaque, INT64 | NUMPY_INTS | BERLIN)),
    "undeclared": (
        None,
        INT64
        | BERLIN
        | NUMPY_INTS
        | st.tuples(TEXT, st.sets(INT64, max_size=2))
        | st.builds(Click, TEXT, BERLIN, INT64),
    ),
    "complex": (complex, st.complex_numbers(allow_nan=False)),
}


def _types() -> dict[str, tuple[Any, st.SearchStrategy[Any]]]:
    found: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {}
    for kind, values in SINGLE:
        found[kind.name] = (kind, values | CONVERTED.get(kind.name, st.nothing()))
    element = {kind.name: found[kind.name] for kind, _ in SINGLE}
    for name in ("LONG", "FLOAT", "STRING", "SQL_TIMESTAMP", "BIG_INT"):
        kind, values = element[name]
        parts = values | st.none()
        found[f"LIST<{name}>"] = (Types.LIST(kind), st.lists(parts, max_size=3) | st.tuples(parts))
        found[f"OBJECT_ARRAY<{name}>"] = (Types.OBJECT_ARRAY(kind), st.lists(parts, max_size=3))
        found[f"MAP<STRING,{name}>"] = (Types.MAP(Types.STRING(), kind), st.dictionaries(TEXT, parts, max_size=3))
        found[f"TUPLE<{name},LONG>"] = (
            Types.TUPLE([kind, Types.LONG()]),
            st.tuples(parts, INT64) | st.tuples(parts, INT64).map(list),
        )
        found[f"ROW<{name},DOUBLE>"] = (
            Types.ROW_NAMED(["a", "b"], [kind, Types.DOUBLE()]),
            st.builds(lambda a, b: Row(a=a, b=b), parts, FLOAT_OR_INT)
            | st.builds(lambda a, b: Row(b=b, a=a), parts, FLOAT_OR_INT)
            | st.builds(Row, parts, FLOAT_OR_INT)
            | st.fixed_dictionaries({"a": parts, "b": FLOAT_OR_INT})
            | st.tuples(parts, FLOAT_OR_INT),
        )
    for basic, values in BASIC:
        if basic != Types.CHAR():
            found[f"BASIC_ARRAY<{basic.name}>"] = (Types.BASIC_ARRAY(basic), st.lists(values | st.none(), max_size=3))
        if basic not in (Types.STRING(), Types.BYTE()):
            found[f"PRIMITIVE_ARRAY<{basic.name}>"] = (Types.PRIMITIVE_ARRAY(basic), st.lists(values, max_size=3))
    found["MAP<FLOAT,LONG>"] = (
        Types.MAP(Types.FLOAT(), Types.LONG()),
        st.dictionaries(st.floats(-1e30, 1e30), INT64, max_size=1),
    )
    found["PICKLED_BYTE_ARRAY"] = (Types.PICKLED_BYTE_ARRAY(), INT64 | st.lists(st.tuples(TEXT), max_size=2))
    return found | ANNOTATIONS


ALL_TYPES = _types()


def canonical(value: Any) -> Any:
    """Returns a form that is equal for two values only if the values and the classes of all their parts are equal."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, (list, tuple)):
        return (name, [canonical(v) for v in value])
    if isinstance(value, (set, frozenset)):
        return (name, sorted((canonical(v) for v in value), key=repr))
    if isinstance(value, dict):
        return (name, [(canonical(k), canonical(v)) for k, v in value.items()])
    if isinstance(value, Row):
        return (name, value.get_row_kind(), value._fields, [canonical(v) for v in value])
    fields = _fields(value)
    if fields is not None:
        return (name, [(f, canonical(getattr(value, f))) for f in fields])
    return (name, repr(value))


def _fields(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if dataclasses.is_dataclass(value):
        return tuple(f.name for f in dataclasses.fields(value))
    return ("value",) if isinstance(value, Opaque) else None
