"""Classes of every family that a program may use. Tests run this text as a script, a notebook cell, a function and a module."""

import abc
import collections
import dataclasses
import enum
import importlib.util
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Generic, NamedTuple, Optional, TypedDict, TypeVar

import msgspec
import pydantic

T = TypeVar("T")


@dataclass
class Order:
    id: int
    price: float = 2.5
    tags: list[str] = field(default_factory=list)
    currency: ClassVar[str] = "EUR"

    def doubled(self) -> "Order":
        return dataclasses.replace(self, price=self.price * 2)


@dataclass(frozen=True)
class FrozenOrder:
    id: int
    at: Optional["datetime"] = None


@dataclass(slots=True)
class SlotsOrder:
    id: int
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FrozenSlotsOrder:
    id: int
    name: str = "x"


@dataclass
class Discounted(Order):
    percent: int = 10

    def doubled(self) -> "Order":
        return super().doubled()


@dataclass(kw_only=True)
class KeywordOrder:
    id: int
    tags: list[str] = field(default_factory=list)
    note: str


@dataclass
class Basket:
    @dataclass
    class Item:
        id: int
        tags: list[str] = field(default_factory=list)

    id: int
    items: list[Item] = field(default_factory=list)


@dataclass
class Box(Generic[T]):
    id: int
    content: T


class Point(NamedTuple):
    id: int
    label: str = "p"

    def moved(self) -> "Point":
        return Point(self.id + 1, self.label)


OldPoint = collections.namedtuple("OldPoint", ["id", "label"])
OtherName = collections.namedtuple("NotThisName", ["id"])  # type: ignore[name-match]


class Click(TypedDict):
    id: int
    page: str


class MoreClick(Click, total=False):
    tags: list[str]


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1  # noqa: PIE796

    def other(self) -> "Color":
        return Color.GREEN if self is Color.RED else Color.RED


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Country(enum.StrEnum):
    DE = "de"
    FR = "fr"


class Planet(enum.Enum):
    EARTH = (5.97, 6.37)
    MARS = (0.64, 3.39)

    def __init__(self, mass: float, radius: float) -> None:
        self.mass = mass
        self.radius = radius


class Rights(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    BOTH = READ | WRITE


class Trade(msgspec.Struct):
    id: int
    price: float = 1.5
    tags: list[str] = []
    currency: ClassVar[str] = "EUR"

    def doubled(self) -> "Trade":
        return Trade(self.id, self.price * 2)


class FrozenTrade(msgspec.Struct, frozen=True, order=True, rename="camel"):
    id: int
    trade_name: str = "t"


class KeywordTrade(msgspec.Struct, kw_only=True, tag=True):
    note: str
    id: int
    tags: list[str] = msgspec.field(default_factory=lambda: ["t"])


class CheckedTrade(Trade):
    price: float = 3.5
    total: float = 0.0

    def __post_init__(self) -> None:
        self.total = self.price * len(CheckedTrade.__struct_fields__)


class Node(msgspec.Struct):
    id: int
    next: Optional["Node"] = None


class Customer(pydantic.BaseModel):
    class Address(pydantic.BaseModel):
        city: str = "Bonn"

    id: int = pydantic.Field(ge=0)
    tags: list[str] = pydantic.Field(default_factory=list)
    address: Address = Address()

    @pydantic.field_validator("tags")
    @classmethod
    def check(cls, value: list[str]) -> list[str]:
        return sorted(value)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def number(self) -> int:
        return self.id + 1


class FrozenCustomer(pydantic.BaseModel, frozen=True):
    id: int
    at: datetime | None = None


class Plain:
    count = 3

    def __init__(self, id: int) -> None:
        self.id = id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.id == other.id

    def __hash__(self) -> int:
        return self.id

    @classmethod
    def first(cls) -> "Plain":
        return cls(1)

    @staticmethod
    def twice(number: int) -> int:
        return number * 2

    @property
    def next(self) -> int:
        return self.id + self.count


class PlainSlots(Plain):
    __slots__ = ("extra",)

    def __init__(self, id: int) -> None:
        super().__init__(id)
        self.extra = id * 2


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> float: ...


class Square(Shape):
    def __init__(self, id: int) -> None:
        self.id = id

    def area(self) -> float:
        return self.id * self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self.area() == other.area()

    __hash__ = None  # type: ignore[assignment]


class Problem(ValueError):  # noqa: N818
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self.args == other.args

    __hash__ = ValueError.__hash__


class Counts(collections.Counter[str]):
    pass


class Family(NamedTuple):
    """A class, how to make the object with a number, and the roles that objects can have."""

    name: str
    kind: Any
    make: Any
    key: bool = False  # whether objects can be keys
    declared: bool = False  # whether it can be the declared type of a state
    check: Any = None  # returns whether an object works as the original


FAMILIES = [
    Family(
        "order",
        Order,
        lambda n: Order(n),
        declared=True,
        check=lambda v: v.doubled().price == v.price * 2 and v.tags == [],
    ),
    Family("frozenorder", FrozenOrder, lambda n: FrozenOrder(n), key=True, declared=True, check=lambda v: v.at is None),
    Family(
        "slotsorder",
        SlotsOrder,
        lambda n: SlotsOrder(n, ["a"]),
        declared=True,
        check=lambda v: not hasattr(v, "__dict__"),
    ),
    Family("frozenslotsorder", FrozenSlotsOrder, lambda n: FrozenSlotsOrder(n), key=True, declared=True),
    Family(
        "discounted",
        Discounted,
        lambda n: Discounted(n, percent=n),
        declared=True,
        check=lambda v: isinstance(v.doubled(), Order),
    ),
    Family("keywordorder", KeywordOrder, lambda n: KeywordOrder(id=n, note="n"), declared=True),
    Family(
        "basket",
        Basket,
        lambda n: Basket(n, [Basket.Item(n)]),
        declared=True,
        check=lambda v: type(v.items[0]) is Basket.Item,
    ),
    Family("basket item", Basket.Item, lambda n: Basket.Item(n), declared=True),
    Family("box", Box, lambda n: Box(n, "c")),
    Family("point", Point, lambda n: Point(n), key=True, declared=True, check=lambda v: v.moved() == Point(v.id + 1)),
    Family("oldpoint", OldPoint, lambda n: OldPoint(n, "p"), key=True),
    Family("othername", OtherName, lambda n: OtherName(n), key=True),
    Family("click", Click, lambda n: Click(id=n, page="p"), declared=True),
    Family("moreclick", MoreClick, lambda n: MoreClick(id=n, page="p"), declared=True),
    Family(
        "color", Color, lambda n: list(Color)[n % 2], key=True, declared=True, check=lambda v: v.other().other() is v
    ),
    Family("color 2", Color, lambda n: Color.CRIMSON, key=True, check=lambda v: v is Color.RED),
    Family("level", Level, lambda n: Level(1 + n % 2), key=True, declared=True, check=lambda v: v is Level(v.value)),
    Family("country", Country, lambda n: Country.FR, key=True, declared=True, check=lambda v: v is Country("fr")),
    Family("planet", Planet, lambda n: Planet.MARS, key=True, check=lambda v: v.mass == 0.64 and v is Planet.MARS),
    Family("rights", Rights, lambda n: Rights.BOTH, check=lambda v: Rights.READ in v),
    Family(
        "trade",
        Trade,
        lambda n: Trade(n),
        declared=True,
        check=lambda v: v.doubled().price == 3.0 and v.currency == "EUR",
    ),
    Family(
        "frozentrade",
        FrozenTrade,
        lambda n: FrozenTrade(n),
        key=True,
        declared=True,
        check=lambda v: b"tradeName" in msgspec.json.encode(v),
    ),
    Family(
        "keywordtrade",
        KeywordTrade,
        lambda n: KeywordTrade(id=n, note="n"),
        declared=True,
        check=lambda v: KeywordTrade(id=1, note="").tags == ["t"],
    ),
    Family("checkedtrade", CheckedTrade, lambda n: CheckedTrade(n), declared=True, check=lambda v: v.total == 3.5 * 4),
    Family("node", Node, lambda n: Node(n, Node(1)), declared=True, check=lambda v: type(v.next) is Node),
    Family(
        "customer",
        Customer,
        lambda n: Customer(id=n, tags=["b", "a"]),
        check=lambda v: v.number == v.id + 1 and Customer.model_validate({"id": 1}) == Customer(id=1),
    ),
    Family(
        "frozencustomer", FrozenCustomer, lambda n: FrozenCustomer(id=n), key=True, check=lambda v: v.model_copy() == v
    ),
    Family(
        "plain",
        Plain,
        lambda n: Plain(n),
        check=lambda v: v.next == v.id + 3 and v.first() == Plain(1) and v.twice(2) == 4,
    ),
    Family("plainslots", PlainSlots, lambda n: PlainSlots(n), check=lambda v: v.extra == v.id * 2),
    Family("square", Square, lambda n: Square(n), check=lambda v: isinstance(v, Shape)),
    Family("problem", Problem, lambda n: Problem(n)),
    Family("counts", Counts, lambda n: Counts(a=n)),
]
attrs: Any = importlib.import_module("attrs") if importlib.util.find_spec("attrs") else None
if attrs is not None:  # it is tested if it is installed

    @attrs.define
    class Ticket:
        id: int
        tags: list[str] = attrs.field(factory=list)

    @attrs.frozen
    class FrozenTicket:
        id: int = attrs.field(validator=attrs.validators.ge(0))
        name: str = "t"

    @attrs.define(kw_only=True, slots=False)
    class OpenTicket:
        id: int
        note: str = "n"

    class SpecialTicket(Ticket):
        pass

    ticket: Any = Ticket
    open_ticket: Any = OpenTicket
    special: Any = SpecialTicket
    FAMILIES += [
        Family("ticket", ticket, lambda n: ticket(n), check=lambda v: ticket(1).tags == [] and attrs.evolve(v) == v),
        Family("special ticket", special, lambda n: special(n), check=lambda v: isinstance(v, Ticket)),
        Family("frozenticket", FrozenTicket, lambda n: FrozenTicket(*[n]), key=True),
        Family("openticket", open_ticket, lambda n: open_ticket(id=n)),
    ]
