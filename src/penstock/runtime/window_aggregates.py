"""Aggregates that are known by name, so that partial results can be made before the shuffle and merged after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.errors import PlanError
from penstock.functions import AggregateFunction

KINDS = ("count", "sum", "min", "max", "avg")


@dataclass(frozen=True, slots=True)
class NamedAggregate(AggregateFunction):
    """count, sum, min, max or avg of what `value_of` takes from an element (None: of the element itself).

    NaN counts as greater than any number, so results do not depend on order.

    >>> average = NamedAggregate("avg")
    >>> average.get_result(average.merge(average.add(1, None), average.add(4, None)))
    2.5
    """

    kind: str
    value_of: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise PlanError(
                "AGGREGATE_NAME",
                f"There is no aggregate '{self.kind}'; known ones are {', '.join(KINDS)}. Use one of them, or an "
                "AggregateFunction.",
            )

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        if self.value_of is not None:
            value = self.value_of(value)
        return self.add_value(value, accumulator)

    def add_value(self, value: Any, accumulator: Any) -> Any:
        """Adds what `value_of` has taken from an element."""
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

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1] if self.kind == "avg" else accumulator
