"""Each change of a type that a state survives, and those that it does not: saved bytes to what the new program reads."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from dataclasses import dataclass, field, make_dataclass
from typing import Any, NamedTuple, NotRequired, TypedDict

import msgspec
import pytest

from penstock import (
    AggregatingStateDescriptor,
    Duration,
    Instant,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Row,
    StateTtlConfig,
    Types,
    ValueStateDescriptor,
)
from penstock.errors import StateError
from penstock.runtime.evolution.natural import value_reader
from penstock.runtime.evolution.shape import state_shape_of
from penstock.runtime.keys import KeyTable
from penstock.runtime.state.backend import StateBackend, Tables
from penstock.runtime.store import MemoryBase, Store
from penstock.savepoints import SavedState
from penstock.savepoints.evolution import (
    AFTER_MIGRATION,
    AS_IS,
    INCOMPATIBLE,
    Resolution,
    StateDescription,
    resolution,
    saved_state,
)
from penstock.state import StateDescriptor
from penstock.types.evolution import state_type

NOW = 1_000_000


class Kept:
    """A state with values in it, as a savepoint has it; and the same after it was given to another program."""

    def __init__(self, descriptor: StateDescriptor, fill: Any) -> None:
        self.base = MemoryBase()
        self.tables = Tables()
        backend = self._backend()
        backend.now = NOW
        handle = backend.handle(descriptor)
        backend.set_key("k")
        fill(handle)
        backend.flush()
        self.store = backend.store
        (table,) = self.tables.all()
        self.saved: SavedState = saved_state(table)

    def _backend(self) -> StateBackend:
        return StateBackend(Store(self.base), self.tables, "op", KeyTable(128))

    def given_to(self, wanted: StateDescriptor) -> tuple[Resolution, Any]:
        """The handle in a program that wants it otherwise."""
        description = StateDescription(wanted.name, wanted)
        found = resolution(self.saved, description, now=NOW)
        assert found.verdict != INCOMPATIBLE, found.differences
        store = Store(MemoryBase())
        for key, value in self.store.changes().items():
            if value is not None:
                store.put(key, found.migrate(value) if found.migrate else value)
        backend = StateBackend(store, Tables([description.table(1, "op")]), "op", KeyTable(128))
        backend.now = NOW + 10
        backend.set_key("k")
        return found, backend.handle(wanted)


def value_of(saved_type: Any, value: Any, wanted_type: Any) -> tuple[Resolution, Any]:
    kept = Kept(ValueStateDescriptor("s", saved_type), lambda handle: handle.update(value))
    found, handle = kept.given_to(ValueStateDescriptor("s", wanted_type))
    return found, handle.value()


def refused(saved: StateDescriptor, wanted: StateDescriptor) -> str:
    tables = Tables()
    StateBackend(Store(MemoryBase()), tables, "op", KeyTable(128)).handle(saved)
    found = resolution(saved_state(tables.all()[0]), StateDescription(wanted.name, wanted))
    assert found.verdict == INCOMPATIBLE
    assert found.migrate is None
    return "; ".join(found.differences)


def refused_value(saved_type: Any, wanted_type: Any) -> str:
    return refused(ValueStateDescriptor("s", saved_type), ValueStateDescriptor("s", wanted_type))


# -- classes before and after


@dataclass
class Spent:
    name: str
    total: int
    tags: list[str]


@dataclass
class WithDefaults:
    name: str
    total: int
    tags: list[str]
    currency: str = "EUR"
    since: datetime.date = datetime.date(2026, 1, 1)
    seen: dict[str, int] = field(default_factory=dict)


def test_fields_added_with_defaults() -> None:
    found, value = value_of(Spent, Spent("a", 1, ["x"]), WithDefaults)
    assert found.verdict == AFTER_MIGRATION
    assert value == WithDefaults("a", 1, ["x"], "EUR", datetime.date(2026, 1, 1), {})
    assert "currency: was added with a default" in found.differences
    assert "Spent became WithDefaults" in found.differences


def test_a_default_is_written_when_the_state_is_taken_over() -> None:
    """A later program with another default must not change what is stored."""

    @dataclass
    class Later:
        name: str
        total: int
        tags: list[str]
        currency: str = "USD"

    kept = Kept(ValueStateDescriptor("s", Spent), lambda handle: handle.update(Spent("a", 1, [])))
    wanted = StateDescription("s", ValueStateDescriptor("s", WithDefaults))
    migrate = resolution(kept.saved, wanted).migrate
    assert migrate is not None
    (data,) = kept.store.changes().values()
    assert data is not None
    read = value_reader(state_shape_of(wanted.type).value)
    assert read(migrate(data))["currency"] == "EUR"


def test_an_added_field_without_a_default_is_refused() -> None:
    @dataclass
    class More:
        name: str
        total: int
        tags: list[str]
        currency: str

    assert "currency: was added without a default" in refused_value(Spent, More)


def test_an_added_field_that_may_be_none_is_none() -> None:
    @dataclass
    class More:
        name: str
        total: int
        tags: list[str]
        note: str | None

    assert value_of(Spent, Spent("a", 1, []), More)[1] == More("a", 1, [], None)


def test_fields_removed_and_reordered() -> None:
    @dataclass
    class Fewer:
        total: int
        name: str

    found, value = value_of(Spent, Spent("a", 1, ["x"]), Fewer)
    assert value == Fewer(1, "a")
    assert "field 'tags' was removed" in found.differences
    assert "fields stand in another order" in found.differences


def test_a_renamed_field_without_an_alias_is_refused_with_the_hint() -> None:
    @dataclass
    class Renamed:
        name: str
        amount: int
        tags: list[str]

    assert "if it was called 'total' before, say so by aliases" in refused_value(Spent, Renamed)


@pytest.mark.parametrize("earlier", ["total", ("sum", "total")])
def test_a_renamed_field(earlier: Any) -> None:
    @state_type(aliases={"amount": earlier})
    @dataclass
    class Renamed:
        name: str
        amount: int
        tags: list[str]

    found, value = value_of(Spent, Spent("a", 7, []), Renamed)
    assert value == Renamed("a", 7, [])
    assert "amount: was called 'total'" in found.differences


def test_an_alias_does_not_take_what_another_field_has_by_its_own_name() -> None:
    @state_type(aliases={"other": "total"})
    @dataclass
    class Both:
        name: str
        total: int
        tags: list[str]
        other: int = -1

    assert value_of(Spent, Spent("a", 7, []), Both)[1] == Both("a", 7, [], -1)


def test_an_alias_of_no_field_is_a_mistake() -> None:
    @state_type(aliases={"amuont": "total"})
    @dataclass
    class Renamed:
        amount: int

    with pytest.raises(StateError, match="amuont") as raised:
        refused_value(Spent, Renamed)
    assert raised.value.code == "STATE_ALIAS"


@pytest.mark.parametrize(
    ("saved", "value", "wanted", "expected"),
    [
        (Types.INT(), 7, Types.LONG(), 7),
        (Types.BYTE(), 7, Types.SHORT(), 7),
        (Types.INT(), 7, Types.DOUBLE(), 7.0),
        (Types.SHORT(), 7, Types.FLOAT(), 7.0),
        (Types.FLOAT(), 0.5, Types.DOUBLE(), 0.5),
        (Types.LONG(), 7, Types.BIG_INT(), 7),
        (Types.LONG(), 7, Types.BIG_DEC(), decimal.Decimal(7)),
        (Types.BIG_INT(), 2**70, Types.BIG_DEC(), decimal.Decimal(2**70)),
        (Types.LONG(), 7, Types.of(int), 7),
        (Types.of(int), 7, Types.LONG(), 7),
        (int, 7, float, 7.0),
        (int, 7, int | None, 7),
        (int | None, 7, int, 7),
        (int, 7, int | str, 7),
        (int, 7, float | str, 7.0),
        (list[int], [7], list[Any], [7]),
        (list[int], [1, 2], list[float], [1.0, 2.0]),
        (list[int], [1, 2], tuple[int, ...], (1, 2)),
        (set[int], {1, 2}, frozenset[int], frozenset({1, 2})),
        (tuple[int, int], (1, 2), tuple[int, float], (1, 2.0)),
        (tuple[int, int], (1, 2), list[float], [1.0, 2.0]),
        (tuple[int, str], (1, "a"), tuple[int], (1,)),
        (tuple[int], (1,), tuple[int, str | None], (1, None)),
        (dict[int, int], {1: 2}, dict[float, float], {1.0: 2.0}),
        (dict[str, list[int]], {"a": [1]}, dict[str, list[float]], {"a": [1.0]}),
        (Types.STRING(), "a", Types.of(str), "a"),
        (Types.CHAR(), "a", Types.STRING(), "a"),
        (Types.SQL_DATE(), datetime.date(2026, 1, 2), datetime.date, datetime.date(2026, 1, 2)),
        (uuid.UUID, uuid.UUID(int=1), str, str(uuid.UUID(int=1))),
        (Types.LIST(Types.INT()), [1, None], Types.LIST(Types.DOUBLE()), [1.0, None]),
        (Types.MAP(Types.INT(), Types.INT()), {1: 2}, Types.MAP(Types.LONG(), Types.DOUBLE()), {1: 2.0}),
        (Types.TUPLE([Types.INT()]), (1,), Types.TUPLE([Types.DOUBLE(), Types.STRING()]), (1.0, None)),
    ],
)
def test_widening(saved: Any, value: Any, wanted: Any, expected: Any) -> None:
    _found, read = value_of(saved, value, wanted)
    assert read == expected
    assert type(read) is type(expected)


@pytest.mark.parametrize(
    ("saved", "wanted"),
    [
        (Types.LONG(), Types.INT()),
        (Types.DOUBLE(), Types.FLOAT()),
        (Types.DOUBLE(), Types.LONG()),
        (Types.INT(), Types.FLOAT()),
        (str, int),
        (int, str),
        (int, bool),
        (list[int], set[int]),
        (list[int], dict[int, int]),
        (tuple[int], tuple[int, str]),
        (Spent, int),
        (int, Spent),
        (int | str, int),
        (datetime.date, datetime.datetime),
        (int, None),
    ],
)
def test_what_is_no_widening_is_refused(saved: Any, wanted: Any) -> None:
    assert refused_value(saved, wanted)


def test_a_type_that_did_not_change_is_taken_as_it_is() -> None:
    found, value = value_of(Spent, Spent("a", 1, []), Spent)
    assert (found.verdict, found.differences, found.migrate) == (AS_IS, [], None)
    assert value == Spent("a", 1, [])


def test_a_class_of_another_name_with_the_same_fields_is_taken_as_it_is() -> None:
    other = make_dataclass("Expense", [("name", str), ("total", int), ("tags", list[str])])
    found, value = value_of(Spent, Spent("a", 1, []), other)
    assert found.verdict == AS_IS
    assert found.differences == ["Spent became Expense"]
    assert (value.name, value.total) == ("a", 1)


# -- all kinds of records


class StructBefore(msgspec.Struct, rename="camel"):
    first_name: str
    age: int


@state_type(aliases={"given_name": "firstName"})
class StructAfter(msgspec.Struct, rename="camel"):
    given_name: str
    age: float
    home_town: str = "?"


class ArrayAfter(msgspec.Struct, array_like=True):
    age: int
    extra: list[int] = []
    firstName: str = ""  # noqa: N815 - as it is stored


class TupleBefore(NamedTuple):
    x: int
    y: int


class TupleAfter(NamedTuple):
    z: float = 0.5
    y: float = 0.0
    x: int = 0


class DictBefore(TypedDict):
    x: int
    y: int


class DictAfter(TypedDict):
    y: float
    note: NotRequired[str]


def test_structs_with_stored_names() -> None:
    assert value_of(StructBefore, StructBefore("Ada", 36), StructAfter)[1] == StructAfter("Ada", 36.0, "?")


def test_structs_stored_as_arrays() -> None:
    value = value_of(StructBefore, StructBefore("Ada", 36), ArrayAfter)[1]
    assert value == ArrayAfter(36, [], "Ada")
    assert value_of(ArrayAfter, value, StructBefore)[1] == StructBefore("Ada", 36)


def test_structs_that_leave_defaults_out() -> None:
    """What was left out has the default of the class that wrote it."""

    class Before(msgspec.Struct, omit_defaults=True):
        n: int = 3
        s: str = "a"

    class After(msgspec.Struct, omit_defaults=True):
        n: float = 9
        s: str = "b"
        new: int = 1

    assert value_of(Before, Before(s="x"), After)[1] == After(3.0, "x", 1)


def test_named_tuples() -> None:
    assert value_of(TupleBefore, TupleBefore(1, 2), TupleAfter)[1] == TupleAfter(0.5, 2.0, 1)
    assert value_of(tuple[int, int], (1, 2), TupleBefore)[1] == TupleBefore(1, 2)


def test_typed_dicts() -> None:
    assert value_of(DictBefore, {"x": 1, "y": 2}, DictAfter)[1] == {"y": 2.0}


def test_rows() -> None:
    before = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    after = Types.ROW_NAMED(["age", "born", "called"], [Types.DOUBLE(), Types.SQL_DATE(), Types.STRING()])
    said = after.evolved(aliases={"called": "name"}, defaults={"born": datetime.date(2000, 1, 1)})
    _found, value = value_of(before, Row(name="Ada", age=36), said)
    assert value == Row(age=36.0, born=datetime.date(2000, 1, 1), called="Ada")
    assert value_of(before, Row(name="Ada", age=36), after)[1] == Row(age=36.0, born=None, called=None)


def test_a_row_becomes_an_object_and_back() -> None:
    row = Types.ROW_NAMED(["name", "total"], [Types.STRING(), Types.LONG()])
    found, value = value_of(row, Row(name="a", total=1), WithDefaultsOnly)
    assert value == WithDefaultsOnly("a", 1)
    assert found.checked  # a row's field may be None
    assert value_of(WithDefaultsOnly, WithDefaultsOnly("a", 1, 2), row)[1] == Row(name="a", total=1)


@dataclass
class WithDefaultsOnly:
    name: str
    total: int = 0
    more: int = 5


def test_a_none_that_the_new_type_does_not_take_is_told() -> None:
    row = Types.ROW_NAMED(["name", "total"], [Types.STRING(), Types.LONG()])
    with pytest.raises(StateError, match="does not fit") as raised:
        value_of(row, Row(name=None, total=1), WithDefaultsOnly)
    assert raised.value.code == "STATE_MIGRATION"


# -- parts within parts


@dataclass
class LineBefore:
    sku: str
    count: int


@dataclass
class LineAfter:
    sku: str
    count: float
    price: float = 1.5


@dataclass
class OrderBefore:
    lines: list[LineBefore]
    by_sku: dict[str, LineBefore]
    best: LineBefore | None
    pair: tuple[LineBefore, int]


@dataclass
class OrderAfter:
    lines: list[LineAfter]
    by_sku: dict[str, LineAfter]
    best: LineAfter | None
    pair: tuple[LineAfter, int]


def test_nested_types_in_lists_maps_tuples_and_options() -> None:
    old, new = LineBefore("a", 1), LineAfter("a", 1.0)
    found, value = value_of(OrderBefore, OrderBefore([old], {"a": old}, None, (old, 2)), OrderAfter)
    assert value == OrderAfter([new], {"a": new}, None, (new, 2))
    assert "lines[].count: int became float" in found.differences
    assert "by_sku{}.price: was added with a default" in found.differences


@dataclass
class TreeBefore:
    n: int
    kids: list[TreeBefore]


@dataclass
class TreeAfter:
    n: float
    kids: list[TreeAfter]
    note: str = "-"


def test_classes_that_hold_themselves() -> None:
    old = TreeBefore(1, [TreeBefore(2, [TreeBefore(3, [])])])
    assert value_of(TreeBefore, old, TreeAfter)[1] == TreeAfter(1.0, [TreeAfter(2.0, [TreeAfter(3.0, [])])])


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    barks: int


class CatAfter(msgspec.Struct, tag="Cat"):
    lives: float
    name: str = "Tom"


def test_unions_of_tagged_structs() -> None:
    _found, value = value_of(list[Cat | Dog], [Cat(9), Dog(2)], list[CatAfter | Dog | None])
    assert value == [CatAfter(9.0, "Tom"), Dog(2)]


class Color(enum.Enum):
    RED = "r"
    BLUE = "b"


class MoreColors(enum.Enum):
    RED = "r"
    BLUE = "b"
    GREEN = "g"


class OnlyRed(enum.Enum):
    RED = "r"


def test_enumerations() -> None:
    assert value_of(Color, Color.RED, MoreColors)[1] is MoreColors.RED
    assert value_of(Color, Color.RED, str)[1] == "r"
    assert value_of(Color, Color.RED, OnlyRed)[1] is OnlyRed.RED
    with pytest.raises(StateError, match="does not fit"):
        value_of(Color, Color.BLUE, OnlyRed)


# -- migrate functions


def test_a_type_replaced_by_a_migrate_function() -> None:
    calls = []

    def migrate(version: int, old: Any) -> Any:
        calls.append((version, old))
        return Money(round(old["total"] * 100), old["name"])

    @state_type(version=2, migrate=migrate)
    @dataclass
    class Money:
        cents: int
        owner: str

    found, value = value_of(Spent, Spent("a", 3, ["x"]), Money)
    assert value == Money(300, "a")
    assert calls == [(1, {"name": "a", "total": 3, "tags": ["x"]})]
    assert found.verdict == AFTER_MIGRATION
    assert found.differences == ["version 1 becomes 2 by its migrate function"]
    # What has the version already is not given to it again.
    assert value_of(Money, Money(1, "b"), Money)[1] == Money(1, "b")
    assert len(calls) == 1


def test_a_migrate_function_inside_of_another_type() -> None:
    @state_type(version=3, migrate=lambda version, old: Cents(old * 100))
    @dataclass
    class Cents:
        n: int

    assert value_of(dict[str, list[int]], {"a": [1, 2]}, dict[str, list[Cents]])[1] == {"a": [Cents(100), Cents(200)]}


def test_a_migrate_function_of_a_descriptor() -> None:
    kept = Kept(ValueStateDescriptor("s", float), lambda handle: handle.update(1.25))
    wanted = ValueStateDescriptor("s", Types.LONG()).evolve(version=2, migrate=lambda version, old: round(old * 100))
    found, handle = kept.given_to(wanted)
    assert handle.value() == 125
    # ... and from there on: the version is saved.
    again = Kept(wanted, lambda handle: handle.update(125))
    found, handle = again.given_to(wanted)
    assert (found.verdict, handle.value()) == (AS_IS, 125)


def test_rows_come_to_a_migrate_function_as_rows() -> None:
    before = Types.ROW_NAMED(["name", "when"], [Types.STRING(), Types.INSTANT()])
    after = Types.ROW_NAMED(["text"], [Types.STRING()])
    said = after.evolved(version=2, migrate=lambda version, old: Row(text=f"{old.name} {type(old['when']).__name__}"))
    assert value_of(before, Row(name="a", when=Instant(1, 2)), said)[1] == Row(text="a Instant")


def test_values_of_a_newer_version_are_refused() -> None:
    @state_type(version=3, migrate=lambda version, old: old)
    @dataclass
    class Newer:
        n: int

    @state_type(version=2, migrate=lambda version, old: old)
    @dataclass
    class Older:
        n: int

    assert "version 3" in refused_value(Newer, Older)


def test_what_a_migrate_function_raises_is_told_with_the_value() -> None:
    def migrate(version: int, old: Any) -> Any:
        return old["nothing"]

    @state_type(version=2, migrate=migrate)
    @dataclass
    class Bad:
        n: int

    with pytest.raises(StateError, match=r"test_lines.py.*KeyError.*'nothing'.*'name': 'a'") as raised:
        value_of(Spent, Spent("a", 1, []), Bad)
    assert raised.value.code == "STATE_MIGRATE_FAILED"


@pytest.mark.parametrize(
    ("version", "migrate", "code"), [(0, None, "STATE_VERSION"), (1, str, "STATE_VERSION"), (2, "f", "STATE_MIGRATE")]
)
def test_mistakes_in_what_a_type_says(version: int, migrate: Any, code: str) -> None:
    with pytest.raises(StateError) as raised:
        state_type(version=version, migrate=migrate)(Spent)
    assert raised.value.code == code


# -- values without a declared type


def test_pickled_values_become_typed_ones_value_by_value() -> None:
    found, value = value_of(None, Spent("a", 1, ["x"]), Spent)
    assert value == Spent("a", 1, ["x"])
    assert found.checked
    assert "no declared type became Spent" in found.differences[0]
    with pytest.raises(StateError):
        value_of(None, "not a number", int)


def test_pickled_values_stay_pickled() -> None:
    found, value = value_of(None, {1: "a"}, None)
    assert (found.verdict, value) == (AS_IS, {1: "a"})
    assert "no declared type" in found.differences[0]


def test_pickled_values_and_a_migrate_function() -> None:
    kept = Kept(ValueStateDescriptor("s"), lambda handle: handle.update((1, 2)))
    wanted = ValueStateDescriptor("s").evolve(version=2, migrate=lambda version, old: sum(old))
    assert kept.given_to(wanted)[1].value() == 3
    typed = Kept(ValueStateDescriptor("s", int), lambda handle: handle.update(4))
    assert typed.given_to(wanted.evolve(version=2, migrate=lambda version, old: [old]))[1].value() == [4]


# -- kinds of state


def test_list_state() -> None:
    kept = Kept(ListStateDescriptor("s", int), lambda handle: handle.add_all([1, 2, 3]))
    _found, handle = kept.given_to(ListStateDescriptor("s", float))
    assert [type(v) for v in handle.get()] == [float] * 3
    handle.add(4.5)
    assert list(handle.get()) == [1.0, 2.0, 3.0, 4.5]


def test_map_state_with_keys_of_all_sorts() -> None:
    keys = ["a", (1, "b"), datetime.date(2026, 1, 1)]
    kept = Kept(
        MapStateDescriptor("s", None, Spent), lambda handle: handle.put_all({k: Spent("x", 1, []) for k in keys})
    )
    _found, handle = kept.given_to(MapStateDescriptor("s", None, WithDefaults))
    assert {k for k, _ in handle.items()} == set(keys)
    assert all(v == WithDefaults("x", 1, []) for v in handle.values())


def test_reducing_and_aggregating_state() -> None:
    class Add:
        def create_accumulator(self) -> Any:
            return 0

        def add(self, value: Any, accumulator: Any) -> Any:
            return accumulator + value

        def get_result(self, accumulator: Any) -> Any:
            return accumulator

        merge = add

    kept = Kept(AggregatingStateDescriptor("s", Add(), int), lambda handle: handle.add(3))
    assert kept.given_to(AggregatingStateDescriptor("s", Add(), float))[1].get() == 3.0
    kept = Kept(ReducingStateDescriptor("s", max, int), lambda handle: handle.add(3))
    assert kept.given_to(ReducingStateDescriptor("s", max, Types.DOUBLE()))[1].get() == 3.0


def test_another_kind_of_state_is_refused() -> None:
    assert "value state became list state" in refused(ValueStateDescriptor("s", int), ListStateDescriptor("s", int))


# -- time to live


def living(descriptor: StateDescriptor, millis: int) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_millis(millis)).build())
    return descriptor


@pytest.mark.parametrize(
    ("make", "fill", "read"),
    [
        (lambda t: ValueStateDescriptor("s", t), lambda h: h.update(3), lambda h: h.value()),
        (lambda t: ListStateDescriptor("s", t), lambda h: h.add_all([3]), lambda h: next(iter(h.get()), None)),
        (lambda t: MapStateDescriptor("s", str, t), lambda h: h.put("a", 3), lambda h: h.get("a")),
    ],
)
def test_stamps_are_kept_put_on_and_taken_off(make: Any, fill: Any, read: Any) -> None:
    kept = Kept(living(make(int), 100), fill)
    found, handle = kept.given_to(living(make(float), 100))
    assert (found.verdict, read(handle)) == (AFTER_MIGRATION, 3.0)
    assert read(kept.given_to(living(make(float), 5))[1]) is None  # the stamps are the old ones: 10 ms ago
    assert read(kept.given_to(make(float))[1]) == 3.0
    bare = Kept(make(int), fill)
    assert read(bare.given_to(living(make(int), 100))[1]) == 3
    found, handle = bare.given_to(living(make(float), 5))  # they count from the restore on
    assert read(handle) is None
    assert "expire now" in found.differences[-1]


# -- keys of maps


@dataclass(frozen=True)
class Point:
    x: int
    y: int


@pytest.mark.parametrize(
    ("saved", "wanted"),
    [
        (int, float),
        (Types.INT(), Types.LONG()),
        (Types.LONG(), int),
        (tuple[int, str], tuple[float, str]),
        (tuple[int, int], TupleBefore),
        (None, str),
        (Point, Point),
        (str, Types.STRING()),
    ],
)
def test_keys_that_keep_their_bytes(saved: Any, wanted: Any) -> None:
    tables = Tables()
    StateBackend(Store(MemoryBase()), tables, "op", KeyTable(128)).handle(MapStateDescriptor("s", saved, int))
    found = resolution(saved_state(tables.all()[0]), StateDescription("s", MapStateDescriptor("s", wanted, int)))
    assert found.verdict == AS_IS


@pytest.mark.parametrize(
    ("saved", "wanted"),
    [(int, str), (float, int), (tuple[int], tuple[int, int]), (Point, tuple[int, int]), (Point, TupleBefore)],
)
def test_keys_that_would_move_are_refused(saved: Any, wanted: Any) -> None:
    told = refused(MapStateDescriptor("s", saved, int), MapStateDescriptor("s", wanted, int))
    assert "bytes would be others" in told
