"""Patterns on Spark: the same matches as in the harness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.cep import CEP, PatternUpdate
from penstock.connectors import ScriptedSource, Step
from penstock.connectors.scripted import At, Mark
from penstock.datastream import DataStream
from tests.system.spark.both_engines import collect_on_both_engines
from tests.unit.runtime.cep import oracle
from tests.unit.runtime.cep.test_dynamic import FormatMatch, letters_in_order

pytestmark = pytest.mark.spark


OVER = ps.OutputTag[Any]("over")
LATE = ps.OutputTag[Any]("late")
SCRIPT = [
    Step({"s": [At(("b", 4, "k"), 4), At(("a", 1, "k"), 1), At(("a", 2, "l"), 2), Mark(3)]}),
    Step({"s": [At(("c", 9, "k"), 9), At(("b", 3, "k"), 3), At(("b", 5, "l"), 5), Mark(6)]}),
    Step({"s": [At(("c", 40, "l"), 40)]}, end=True),
]
UPDATES = [Step({"u": [PatternUpdate("p", "ab")]}), Step({"u": [PatternUpdate("p", None), PatternUpdate("q", "bc")]})]
ABC = [oracle.Step(oracle.NEXT, letter) for letter in "abc"]


def format_match(match: Any) -> str:
    return " ".join(f"{e[0]}{e[1]}" for events in match.values() for e in events)


def numbered(number: int) -> Callable[[Any], tuple[int, Any]]:
    return lambda value: (number, value)


def everything(env: ps.StreamExecutionEnvironment) -> DataStream[Any]:
    """A pattern with late events and timeouts, one over the whole stream, and dynamic patterns, in one stream."""
    events = env.from_source(ScriptedSource(SCRIPT))
    keyed = events.key_by(lambda e: e[2])
    found = (
        CEP.pattern(keyed, oracle.make_pattern(ABC, within=20))
        .side_output_late_data(LATE)
        .select(format_match, timed_out_tag=OVER, timeout_function=lambda match, at: (format_match(match), at))
    )
    whole = CEP.pattern(events, oracle.make_pattern(ABC)).select(format_match)
    updates = env.from_source(ScriptedSource(UPDATES, ("u",)))
    changing = CEP.dynamic_patterns(keyed, updates, pattern_of=letters_in_order).process(FormatMatch())
    streams: list[DataStream[Any]] = [
        found,
        found.get_side_output(LATE),
        found.get_side_output(OVER),
        whole,
        changing,
    ]
    first, *others = [stream.map(numbered(n)) for n, stream in enumerate(streams)]
    return first.union(*others)


def test_patterns_have_the_same_matches_on_spark() -> None:
    assert {n for n, _ in collect_on_both_engines(everything)} == {0, 1, 2, 3, 4}
