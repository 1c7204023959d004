"""Functions that process elements of two streams together: in a window, by key, or within a time interval."""

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
    """Combines each pair of elements into one result."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """Returns the result of a pair. Called for each pair of elements of a key and window."""


class FlatJoinFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Combines each pair of elements into any number of results."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """Returns the results of a pair, or None. Called for each pair of elements of a key and window."""


class CoGroupFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Combines all elements of a key and window. One of the two groups may be empty."""

    @abstractmethod
    def co_group(self, first: Iterable[IN1], second: Iterable[IN2]) -> Iterable[OUT] | None:
        """Returns the results of the elements of both streams, or None. Called for each key and window."""


class JoinContext(ABC):
    """The context of a ProcessJoinFunction."""

    @abstractmethod
    def get_left_timestamp(self) -> int:
        """Returns the timestamp of the element of the first stream in milliseconds."""

    @abstractmethod
    def get_right_timestamp(self) -> int:
        """Returns the timestamp of the element of the second stream in milliseconds."""

    @abstractmethod
    def get_timestamp(self) -> int:
        """Returns the timestamp of the result, which is the later of the two."""

    @abstractmethod
    def output(self, output_tag: OutputTag[X], value: X) -> None:
        """Emits a value to a side output, with the timestamp of the result. Yielding `(output_tag, value)` does the same."""


class ProcessJoinFunction(Function, ABC, Generic[IN1, IN2, OUT]):
    """Processes each pair of elements whose timestamps lie within an interval of each other."""

    Context: TypeAlias = JoinContext

    @abstractmethod
    def process_element(self, left: IN1, right: IN2, ctx: Context) -> Yields[OUT]:
        """Called for each pair. Yields the results."""


class TaggedUnion(Generic[ONE, TWO]):
    """An element of one of two joined streams, as seen by the trigger, evictor and window assigner of a window join.

    >>> TaggedUnion.two("click").is_two(), TaggedUnion.one("view").get_one()
    (True, 'view')
    """

    __slots__ = ("number", "value")

    def __init__(self, number: int, value: Any) -> None:
        self.number = number  # of the input, 0 or 1
        self.value = value

    @staticmethod
    def one(one: X) -> TaggedUnion[X, Any]:
        """Returns an element of the first stream."""
        return TaggedUnion(0, one)

    @staticmethod
    def two(two: X) -> TaggedUnion[Any, X]:
        """Returns an element of the second stream."""
        return TaggedUnion(1, two)

    def is_one(self) -> bool:
        """Returns whether the element is from the first stream."""
        return self.number == 0

    def is_two(self) -> bool:
        """Returns whether the element is from the second stream."""
        return self.number == 1

    def get_one(self) -> ONE | None:
        """Returns the element if it is from the first stream, else None."""
        return self.value if self.number == 0 else None

    def get_two(self) -> TWO | None:
        """Returns the element if it is from the second stream, else None."""
        return self.value if self.number == 1 else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaggedUnion) and (self.number, self.value) == (other.number, other.value)

    def __hash__(self) -> int:
        return hash((self.number, self.value))

    def __repr__(self) -> str:
        return f"TaggedUnion.{'two' if self.number else 'one'}({self.value!r})"
