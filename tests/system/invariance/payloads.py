"""Values of state: for each kind of value a function of a number, and the declared type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from penstock.row import Row
from penstock.types import Types


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list)


class Pair(NamedTuple):
    left: int
    right: str


class Colour(Enum):
    RED = 0
    GREEN = 1
    BLUE = 2


class Reading(msgspec.Struct):
    value: float
    unit: str | None = None


class Thing:
    """A class without a type description, which is pickled."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"Thing({self.number})"


@dataclass(frozen=True)
class Payload:
    """`make` creates a value of a number, `change` changes a value in place."""

    make: Callable[[int], Any]
    declared: Any
    change: Callable[[Any, int], None] | None = None


_START = datetime(2026, 3, 1, tzinfo=UTC)
_BERLIN = ZoneInfo("Europe/Berlin")


def _append(value: list[Any], number: int) -> None:
    value.append(number)


def _add_tag(value: Point, number: int) -> None:
    value.tags.append(str(number))


def _set_number(value: Any, number: int) -> None:
    value.number = number


def _set_value(value: Reading, number: int) -> None:
    value.value = number / 2


PAYLOADS: dict[str, Payload] = {
    "int": Payload(lambda n: n, int),
    "long": Payload(lambda n: n * 2**40, Types.LONG()),
    "big": Payload(lambda n: n * 2**80, Types.BIG_INT()),
    "float": Payload(lambda n: n / 4, float),
    "float32": Payload(lambda n: n / 4, Types.FLOAT()),
    "float32 inexact": Payload(lambda n: n / 10, Types.FLOAT()),
    "bool": Payload(lambda n: n % 2 == 0, bool),
    "str": Payload(lambda n: f"é{n}\n", str),
    "bytes": Payload(lambda n: bytes([n % 256, 0]), bytes),
    "decimal": Payload(lambda n: Decimal(n).scaleb(-2), Types.BIG_DEC()),
    "utc": Payload(lambda n: _START + timedelta(hours=n % 9999, microseconds=n), datetime),
    "berlin": Payload(lambda n: (_START + timedelta(hours=n % 9999)).astimezone(_BERLIN), datetime),
    "naive": Payload(lambda n: (_START + timedelta(hours=n % 9999)).replace(tzinfo=None), Types.SQL_TIMESTAMP()),
    "date": Payload(lambda n: date(2026, 1, 1) + timedelta(days=n % 9999), Types.SQL_DATE()),
    "time": Payload(lambda n: time(n % 24, 5, 7), Types.SQL_TIME()),
    "instant": Payload(lambda n: _START + timedelta(hours=n % 9999), Types.INSTANT()),
    "tuple": Payload(lambda n: (n, str(n)), Types.TUPLE([Types.LONG(), Types.STRING()])),
    "tuple annotation": Payload(lambda n: (n, str(n)), tuple[int, str]),
    "row": Payload(lambda n: Row(a=n, b=str(n)), Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])),
    "dict as row": Payload(
        lambda n: {"a": n, "b": str(n)}, Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])
    ),
    "list": Payload(lambda n: [n, n + 1], list[int], _append),
    "Types.LIST": Payload(lambda n: [n, n + 1], Types.LIST(Types.LONG()), _append),
    "list of tuples": Payload(lambda n: [(n, 1)], list),
    "set": Payload(lambda n: {n % 5, 7}, set[int]),
    "dict": Payload(lambda n: {str(n): n}, dict[str, int]),
    "Types.MAP": Payload(lambda n: {str(n): n}, Types.MAP(Types.STRING(), Types.LONG())),
    "dataclass": Payload(lambda n: Point(n, [str(n)]), Point, _add_tag),
    "named tuple": Payload(lambda n: Pair(n, str(n)), Pair),
    "enum": Payload(lambda n: Colour(n % 3), Colour),
    "struct": Payload(lambda n: Reading(n / 2), Reading, _set_value),
    "optional": Payload(lambda n: n, int | None),
    "object": Payload(Thing, Types.PICKLED_BYTE_ARRAY(), _set_number),
}


def show(value: Any) -> str:
    """Returns a text that differs if two values, their types or the order of their parts differ."""
    match value:
        case list() | tuple() if type(value) in (list, tuple):
            opened, closed = "[]" if isinstance(value, list) else "()"
            return opened + ", ".join(map(show, value)) + closed
        case set() | frozenset():
            return f"{type(value).__name__}{sorted(map(show, value))}"
        case dict():
            return type(value).__name__ + str([(show(k), show(v)) for k, v in value.items()])
        case float() | int() | str() | bytes() | None if type(value) in (float, int, str, bytes, bool, type(None)):
            return repr(value)
    return f"{type(value).__name__}:{value!r}"
