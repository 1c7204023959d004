"""Compatible changes of keys: the key type before and after each change."""

from __future__ import annotations

import datetime
import enum
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from penstock import (
    Row,
    Types,
)
from penstock.types.evolution import state_type
from tests.unit.runtime.state.evolution.keyed_jobs import Element, Job, Keyed, job, state_of

FIRST: list[Element] = [(n % 5, "north" if n % 2 else "south", n) for n in range(12)]
SECOND: list[Element] = [(n % 6, "south" if n % 3 else "north", n) for n in range(20, 32)]


class Kind(enum.Enum):
    ONE = 1
    MANY = 2


@dataclass(frozen=True)
class Old:
    user: int
    region: str


@dataclass(frozen=True)
class Reordered:
    region: str
    user: int


@dataclass(frozen=True)
class Added:
    user: int
    region: str
    tenant: str = "first"


@dataclass(frozen=True)
class Longer:
    user: int
    region: str
    note: str
    kind: Kind = Kind.ONE
    on: datetime.date = datetime.date(2026, 1, 1)
    seen: Any = field(default=None, compare=False)


@state_type(aliases={"who": "user", "where": "region"})
@dataclass(frozen=True)
class Renamed:
    where: str
    who: int


class AsStruct(msgspec.Struct, frozen=True):
    region: str
    user: float


class AsTuple(NamedTuple):
    region: str
    user: int


class Pair(NamedTuple):
    user: int
    region: str


def joined(version: int, old: Any) -> Joined:
    return Joined(f"{old['region']}/{old['user']}", version)


@state_type(version=2, migrate=joined)
@dataclass(frozen=True)
class Joined:
    name: str
    made_by: int = 1


@dataclass(frozen=True)
class Inner:
    n: int


@dataclass(frozen=True)
class Nested:
    inner: Inner
    region: str


@state_type(version=3, migrate=lambda version, old: InnerNow(str(old["n"])))
@dataclass(frozen=True)
class InnerNow:
    text: str


@dataclass(frozen=True)
class NestedNow:
    region: str
    inner: InnerNow


@dataclass(frozen=True)
class Texts:
    user: str
    region: str


@dataclass(frozen=True)
class Turned:
    region: str
    user: str


@dataclass(frozen=True)
class Shifted:
    region: str
    country: str


@dataclass(frozen=True)
class Who:
    who: int
    region: str


@state_type(aliases={"who": "user"})
@dataclass(frozen=True)
class WhoSaid:
    who: int
    region: str


@dataclass(frozen=True)
class Tenant:
    user: int
    tenant: str = "first"


@dataclass(frozen=True)
class OnlyRegion:
    region: str


OLD = Keyed(Old, lambda e: Old(e[0], e[1]))
OLD_ROW = Keyed(Types.ROW_NAMED(["b", "a"], [Types.INT(), Types.STRING()]), lambda e: Row(b=e[0], a=e[1]))
CHANGES: dict[str, tuple[Keyed, Keyed, str]] = {
    "another order": (OLD, Keyed(Reordered, lambda e: Reordered(e[1], e[0])), "the order of the fields changed"),
    "a field added": (OLD, Keyed(Added, lambda e: Added(e[0], e[1])), "tenant: was added with a default"),
    "fields removed": (
        Keyed(Longer, lambda e: Longer(e[0], e[1], f"note {e[0]} {e[1]}", Kind(1 + e[0] % 2))),
        OLD,
        "field 'note' was removed",
    ),
    "an alias": (OLD, Keyed(Renamed, lambda e: Renamed(e[1], e[0])), "who: was called 'user'"),
    "another kind of class, wider": (
        OLD,
        Keyed(AsStruct, lambda e: AsStruct(e[1], float(e[0]))),
        "user: int became float",
    ),
    "a named tuple": (OLD, Keyed(AsTuple, lambda e: AsTuple(e[1], e[0])), "an object without field names"),
    "another order of a named tuple": (
        Keyed(Pair, lambda e: Pair(e[0], e[1])),
        Keyed(AsTuple, lambda e: AsTuple(e[1], e[0])),
        "the order of the fields changed",
    ),
    "a tuple that became an object": (
        Keyed(tuple[int, str], lambda e: (e[0], e[1])),
        OLD,
        "a tuple became Old; fields are matched by position",
    ),
    "a tuple that became longer": (
        Keyed(tuple[int, str], lambda e: (e[0], e[1])),
        Keyed(tuple[int, str, int | None], lambda e: (e[0], e[1], None)),
        "[2] was added; it is None",
    ),
    "a row": (
        OLD_ROW,
        Keyed(
            Types.ROW_NAMED(["b", "z", "more"], [Types.LONG(), Types.STRING(), Types.INT()]).evolved(
                aliases={"z": "a"}, defaults={"more": 4}
            ),
            lambda e: Row(b=e[0], z=e[1], more=4),
        ),
        "z: was called 'a'",
    ),
    "a row that became an object": (
        Keyed(
            Types.ROW_NAMED(["user", "region"], [Types.INT(), Types.STRING()]), lambda e: Row(user=e[0], region=e[1])
        ),
        OLD,
        "was stored as a row",
    ),
    "a migrate function": (
        OLD,
        Keyed(Joined, lambda e: Joined(f"{e[1]}/{e[0]}", 1)),
        "version 1 is converted to 2 by its migrate function",
    ),
    "a migrate function inside": (
        Keyed(Nested, lambda e: Nested(Inner(e[0]), e[1])),
        Keyed(NestedNow, lambda e: NestedNow(e[1], InnerNow(str(e[0])))),
        "inner: version 1 is converted to 3 by its migrate function",
    ),
    "a number that became text by a function": (
        Keyed(Types.LONG(), lambda e: e[0]),
        Keyed(Types.STRING().evolved(version=2, migrate=lambda v, old: f"user {old}"), lambda e: f"user {e[0]}"),
        "version 1 is converted to 2 by its migrate function",
    ),
    "a Python type with a function": (
        Keyed(str, lambda e: f"{e[0]}-{e[1]}"),
        Keyed(
            Types.of(tuple[int, str]).evolved(version=2, migrate=lambda v, old: (int(old[0]), old[2:])), lambda e: e[:2]
        ),
        "version 1 is converted to 2 by its migrate function",
    ),
    "no declared type, and a function": (
        Keyed(None, lambda e: Old(e[0], e[1])),
        Keyed(
            Types.of(Reordered).evolved(version=2, migrate=lambda v, old: Reordered(old[2], old[1])),
            lambda e: Reordered(e[1], e[0]),
        ),
        "version 1 is converted to 2 by its migrate function",
    ),
    "an identifier that became text": (
        Keyed(uuid.UUID, lambda e: uuid.UUID(int=e[0])),
        Keyed(str, lambda e: str(uuid.UUID(int=e[0]))),
        "uuid became str",
    ),
}


def restored_job(
    kind: str, before: Keyed, after: Keyed, folder: Path, parallelism: int, groups: int | None = None
) -> Job:
    """A job restored from the state of a job with other keys."""
    first = job(kind, before)
    first.feed(FIRST, 0)
    saved = first.harness.savepoint(folder / "saved")
    second = job(kind, after, parallelism, groups)
    second.harness.restore_savepoint(saved)
    return second


def fresh_job(kind: str, key: Keyed, parallelism: int, groups: int | None = None) -> Job:
    fresh = job(kind, key, parallelism, groups)
    fresh.feed(FIRST, 0)
    return fresh


def assert_equal_state(restored: Job, fresh: Job) -> None:
    assert state_of(restored) == state_of(fresh)
    assert restored.feed(SECOND, len(FIRST)) == fresh.feed(SECOND, len(FIRST))
    assert state_of(restored) == state_of(fresh)
    assert restored.end() == fresh.end()


BY_REGION: list[Keyed] = [
    Keyed(Types.of(str).evolved(version=2, migrate=lambda v, old: old["region"]), lambda e: e[1]),
    Keyed(OnlyRegion, lambda e: OnlyRegion(e[1])),
]
