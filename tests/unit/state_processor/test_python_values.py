"""Values without a declared type: readable pickles in tables, Python values in rows."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.state_processor import SavepointReader
from penstock.testing import Harness, PushSource
from penstock.windows import CountEvictor, TumblingEventTimeWindows


@dataclass(frozen=True)
class Point:
    x: int
    y: Any


class Opaque:
    """A class that Arrow has no type for."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and other.n == self.n

    def __hash__(self) -> int:
        return self.n


class Everything(ps.ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield list(elements)


class Collect(ps.AggregateFunction):
    def create_accumulator(self) -> Any:
        return ()

    def add(self, value: Any, accumulator: Any) -> Any:
        return (*accumulator, value)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, a: Any, b: Any) -> Any:
        return (*a, *b)


ELEMENTS: dict[str, list[Any]] = {
    "numbers": [1, 2],
    "several types": [1, "a"],
    "dicts": [{"a": 1}, {"a": "x", "b": None}],
    "tuples": [("a", 1), ("a", "x")],
    "objects": [Point(1, "x"), Point(2, 2.5)],
    "opaque": [Opaque(1), Opaque(2)],
    "large": [2**70, 1],
    "complex": [1j, {2, "a"}],
}
# What is stored for the elements: each of them, with its timestamp for an evictor, or a list with the accumulator.
WINDOWS: dict[str, tuple[Callable[[Any], Any], Callable[[list[Any]], list[Any]]]] = {
    "process": (lambda windows: windows.process(Everything()), list),
    "evictor": (
        lambda windows: windows.evictor(CountEvictor.of(5)).process(Everything()),
        lambda elements: [(10, element) for element in elements],
    ),
    "reduce": (lambda windows: windows.reduce(lambda a, b: b), lambda elements: [[elements[-1]]]),
    "aggregate": (lambda windows: windows.aggregate(Collect()), lambda elements: [[tuple(elements)]]),
}


@pytest.mark.parametrize("elements", ELEMENTS)
@pytest.mark.parametrize("window", WINDOWS)
def test_contents_of_windows_are_python_values(tmp_path: Path, window: str, elements: str) -> None:
    make, expected = WINDOWS[window]
    env = ps.StreamExecutionEnvironment()
    keyed = env.from_source(PushSource()).uid("source").key_by(lambda e: Point(7, "k"))
    harness = Harness(env)
    harness.collect(make(keyed.window(TumblingEventTimeWindows.of(100))).uid("op"))
    with harness.batch():
        for element in ELEMENTS[elements]:
            harness.push(element, 10)
    reader = SavepointReader.read(harness.savepoint(tmp_path / "saved"))
    rows = list(reader.rows("op", "__contents__"))
    assert [row["value"] for row in rows] == expected(ELEMENTS[elements])
    assert {(row["key"], row["window_start"], row["window_end"]) for row in rows} == {(Point(7, "k"), 0, 100)}
    values = reader.windows("op").column("value").to_pylist()
    if isinstance(values[0], bytes):  # Arrow has no type for them
        assert [pickle.loads(value) for value in values] == expected(ELEMENTS[elements])
