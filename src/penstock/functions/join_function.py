"""Functions that see elements of two streams together: of a window, of a key, or near each other in time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeAlias

from typing_extensions import TypeVar

from penstock.functions.function import IN1, IN2, OUT, Function, Yields
from penstock.functions.output_tag import OutputTag

ONE = TypeVar("ONE", covariant=True, default=Any)
TWO = TypeVar("TWO", covariant=True, default=Any)
X = TypeVar("X")


class JoinFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """One result for each pair of elements."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """What a pair becomes."""


class FlatJoinFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Any number of results for each pair of elements."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """What a pair becomes: any number of elements, or None."""


class CoGroupFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Any number of results for all elements of a key and window; one of the two groups may be empty."""

    @abstractmethod
    def co_group(self, first: Iterable[IN1], second: Iterable[IN2]) -> Iterable[OUT] | None:
        """What the elements of one key and window become: all of the first stream and all of the second, either of
        which may be none.
        """


class JoinContext(ABC):
    """The times of the pair that a ProcessJoinFunction is given."""

    @abstractmethod
    def get_left_timestamp(self) -> int:
        """The event time of the element of the first stream."""

    @abstractmethod
    def get_right_timestamp(self) -> int:
        """The event time of the element of the second stream."""

    @abstractmethod
    def get_timestamp(self) -> int:
        """The result's timestamp: the later of the two."""

    @abstractmethod
    def output(self, output_tag: OutputTag[X], value: X) -> None:
        """Sends a value to a side output, with the result's timestamp; yielding `(output_tag, value)` does the same."""


class ProcessJoinFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Any number of results for each pair of elements whose times lie in an interval of each other."""

    Context: TypeAlias = JoinContext

    @abstractmethod
    def process_element(self, left: IN1, right: IN2, ctx: Context) -> Yields[OUT]:
        """Called with each pair; yields what it emits."""


class TaggedUnion(Generic[ONE, TWO]):
    """An element of either stream of a window join: what its trigger, evictor and window assigner are given.

    >>> TaggedUnion.two("click").is_two(), TaggedUnion.one("view").get_one()
    (True, 'view')
    """

    __slots__ = ("number", "value")

    def __init__(self, number: int, value: Any) -> None:
        self.number = number  # of the input: 0 or 1
        self.value = value

    @staticmethod
    def one(one: X) -> TaggedUnion[X, Any]:
        """An element of the first stream."""
        return TaggedUnion(0, one)

    @staticmethod
    def two(two: X) -> TaggedUnion[Any, X]:
        """An element of the second stream."""
        return TaggedUnion(1, two)

    def is_one(self) -> bool:
        """Whether it is of the first stream."""
        return self.number == 0

    def is_two(self) -> bool:
        """Whether it is of the second stream."""
        return self.number == 1

    def get_one(self) -> ONE | None:
        """The element, when it is of the first stream; None otherwise."""
        return self.value if self.number == 0 else None

    def get_two(self) -> TWO | None:
        """The element, when it is of the second stream; None otherwise."""
        return self.value if self.number == 1 else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaggedUnion) and (self.number, self.value) == (other.number, other.value)

    def __hash__(self) -> int:
        return hash((self.number, self.value))

    def __repr__(self) -> str:
        return f"TaggedUnion.{'two' if self.number else 'one'}({self.value!r})"
