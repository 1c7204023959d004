"""Predefined aggregates. Penstock computes them on columns and, where that is exact, before the shuffle.

Each is also an ordinary AggregateFunction, so it works with every trigger and evictor, and in keyed state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

from typing_extensions import TypeVar

from penstock.errors import PlanError
from penstock.functions.field_access import Field, make_field_reader
from penstock.functions.function import AggregateFunction
from penstock.functions.window_function import WindowFunction
from penstock.row import Row, make_row

AGGREGATE_KINDS = ("count", "sum", "min", "max", "avg")

V = TypeVar("V", default=Any)
K = TypeVar("K", default=Any)


@dataclass(frozen=True)
class NamedAggregate(AggregateFunction[Any, Any, V], Generic[V]):
    """The count, sum, min, max or avg of a field, or of the elements if `field` is None. Created by the functions below.

    NaN is greater than any number, so results do not depend on the order of elements.

    >>> average = avg_of(1)
    >>> average.get_result(average.merge(average.add(("a", 1), None), average.add(("a", 4), None)))
    2.5
    """

    kind: str
    field: Field = None

    def __post_init__(self) -> None:
        if self.kind not in AGGREGATE_KINDS:
            raise PlanError(
                "AGGREGATE_NAME",
                f"There is no aggregate '{self.kind}'. Use one of {', '.join(AGGREGATE_KINDS)}, or an AggregateFunction.",
            )
        if not (self.field is None or callable(self.field) or isinstance(self.field, str | int)):
            raise PlanError(
                "FIELD_POSITION",
                f"{self.kind} got {self.field!r} as its field. Pass the name of a field (str), its position (int), a function "
                "of the element, or nothing for the element itself.",
            )

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        if self.kind != "count" and (read := make_field_reader(value, self.field)) is not None:
            value = read(value)
        return self.add_value(value, accumulator)

    def add_value(self, value: Any, accumulator: Any) -> Any:
        """Adds the value of a field to the accumulator."""
        if self.kind == "count":
            value = 1
        elif self.kind == "avg":
            value = (value, 1)
        return value if accumulator is None else self.merge(accumulator, value)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        if self.kind in ("count", "sum"):
            return acc_a + acc_b
        if self.kind == "avg":
            return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
        if self.kind == "min":
            return acc_b if acc_b < acc_a or acc_a != acc_a else acc_a
        return acc_b if acc_b > acc_a or acc_b != acc_b else acc_a

    def get_result(self, accumulator: Any) -> V:
        result: V = accumulator[0] / accumulator[1] if self.kind == "avg" else accumulator
        return result


def count() -> NamedAggregate[int]:
    """Returns an aggregate that counts elements.

    >>> count().add("a", 2)
    3
    """
    return NamedAggregate("count")


def sum_of(field: Field = None) -> NamedAggregate[Any]:
    """Returns an aggregate that sums a field.

    >>> sum_of("price").add({"price": 2}, 5)
    7
    """
    return NamedAggregate("sum", field)


def min_of(field: Field = None) -> NamedAggregate[Any]:
    """Returns an aggregate for the minimum of a field.

    >>> min_of().add(3, 5)
    3
    """
    return NamedAggregate("min", field)


def max_of(field: Field = None) -> NamedAggregate[Any]:
    """Returns an aggregate for the maximum of a field.

    >>> max_of().add(3, 5)
    5
    """
    return NamedAggregate("max", field)


def avg_of(field: Field = None) -> NamedAggregate[float]:
    """Returns an aggregate for the average of a field.

    >>> avg_of().get_result(avg_of().add(3, None))
    3.0
    """
    return NamedAggregate("avg", field)


class NamedAggregates(AggregateFunction[Any, Any, Row]):
    """Computes several named aggregates. The result is a Row with one field for each.

    >>> both = NamedAggregates(n=count(), most=max_of())
    >>> both.get_result(both.add(7, both.add(3, both.create_accumulator())))
    Row(n=2, most=7)
    """

    def __init__(self, **aggregates: NamedAggregate[Any]) -> None:
        arguments: dict[str, Any] = aggregates
        invalid = [name for name, a in arguments.items() if not isinstance(a, NamedAggregate)]
        if invalid or not aggregates:
            problem = f"{', '.join(invalid)}, which is not a named aggregate" if invalid else "no arguments"
            raise PlanError(
                "NAMED_AGGREGATES",
                f"NamedAggregates got {problem}. Pass named aggregates: NamedAggregates(n=count(), total=sum_of('price')).",
            )
        self.names = list(aggregates)
        self.aggregates = tuple(aggregates.values())

    def create_accumulator(self) -> Any:
        return (None,) * len(self.aggregates)

    def add(self, value: Any, accumulator: Any) -> Any:
        return tuple(a.add(value, acc) for a, acc in zip(self.aggregates, accumulator, strict=True))

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return tuple(a.merge(x, y) for a, x, y in zip(self.aggregates, acc_a, acc_b, strict=True))

    def get_result(self, accumulator: Any) -> Row:
        return make_row(self.names, [a.get_result(x) for a, x in zip(self.aggregates, accumulator, strict=True)])


class WindowResult(NamedTuple, Generic[K, V]):
    """The aggregate of a window of a key. `start` is inclusive and `end` exclusive, both in milliseconds.

    >>> WindowResult("a", 0, 10, 3).value
    3
    """

    key: K
    start: int
    end: int
    value: V


class WithWindow(WindowFunction[Any, Any, Any, Any]):
    """Adds the key and the window to a result.

    >>> from penstock.windows import TimeWindow
    >>> WithWindow().apply("a", TimeWindow(0, 10), [3])
    [WindowResult(key='a', start=0, end=10, value=3)]
    """

    def apply(self, key: Any, window: Any, inputs: Any) -> list[Any]:
        return [self.result(key, window.start, window.end, value) for value in inputs]

    def result(self, key: Any, start: int, end: int, value: Any) -> Any:
        return WindowResult(key, start, end, value)


class RowWithWindow(WithWindow):
    """Returns a Row with the key, the bounds of the window and the aggregates with the given names.

    >>> RowWithWindow(["n"]).result("a", 0, 10, Row(n=3))
    Row(key='a', window_start=0, window_end=10, n=3)
    """

    def __init__(self, names: list[str]) -> None:
        self._names = ["key", "window_start", "window_end", *names]

    def result(self, key: Any, start: int, end: int, value: Any) -> Row:
        return make_row(self._names, [key, start, end, *value])
