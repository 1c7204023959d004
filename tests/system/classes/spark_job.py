"""One job on Spark with objects of all families in all roles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.connectors import json_lines
from penstock.connectors.collection import CollectionSource
from penstock.functions import DEAD_LETTERS
from tests.system.classes.roles import expect

ROUNDS = 4  # objects of each family; a batch has one of each
FAILING_ROUND = 2
LINES = ['{"id": 1, "price": 3.5}', '{"price": 3.5}', '{"id": 2}']  # the second has no id

Numbered = tuple[str, int, Any]  # the name of a family, the number of an object, and the object


class _Last(ps.AggregateFunction[Any, Any, Any]):
    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_b


class InState(ps.KeyedProcessFunction[str, Numbered, tuple[str, Any]]):
    """Compares each object with the one before, which is in state. Fails once if the file `repaired` does not exist."""

    def __init__(self, families: dict[str, Any], repaired: str) -> None:
        self.families = families
        self.repaired = repaired

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.last = runtime_context.get_state(ps.ValueStateDescriptor("last"))
        self.accumulated = runtime_context.get_aggregating_state(ps.AggregatingStateDescriptor("accumulated", _Last()))
        self.declared = {
            name: runtime_context.get_state(ps.ValueStateDescriptor(f"declared {name}", family.kind))
            for name, family in self.families.items()
            if family.declared
        }

    def process_element(self, value: Numbered, ctx: ps.KeyedProcessFunction.Context) -> Iterator[tuple[str, Any]]:
        name, number, thing = value
        if number == FAILING_ROUND and not Path(self.repaired).exists():
            raise RuntimeError("not repaired")
        family, declared = self.families[name], self.declared.get(name)
        expect(family, thing, number)
        if number > 0:
            expect(family, self.last.value(), number - 1)
            expect(family, self.accumulated.get(), number - 1)
            assert declared is None or expect(family, declared.value(), number - 1) is not None
        self.last.update(thing)
        self.accumulated.add(thing)
        if declared is not None:
            declared.update(thing)
        yield name, thing


class ByKey(ps.KeyedProcessFunction[Any, Numbered, tuple[str, Any]]):
    def __init__(self, families: dict[str, Any]) -> None:
        self.families = families

    def process_element(self, value: Numbered, ctx: ps.KeyedProcessFunction.Context) -> Iterator[tuple[str, Any]]:
        name, number, _ = value
        yield name, expect(self.families[name], ctx.get_current_key(), number)


RULES = ps.MapStateDescriptor("rules")


class WithRules(ps.BroadcastProcessFunction[Numbered, Numbered, tuple[str, Any]]):
    def __init__(self, families: dict[str, Any]) -> None:
        self.families = families

    def process_element(self, value: Numbered, ctx: Any) -> Iterator[tuple[str, Any]]:
        name, _, thing = value
        rule = ctx.get_broadcast_state(RULES).get(name)
        yield name, thing if rule is None else expect(self.families[name], rule)

    def process_broadcast_element(self, value: Numbered, ctx: Any) -> Iterator[tuple[str, Any]]:
        name, number, thing = value
        ctx.get_broadcast_state(RULES).put(name, expect(self.families[name], thing, number))
        yield from ()


def build(env: ps.StreamExecutionEnvironment, families: list[Any], folder: Path) -> ps.DataStream[tuple[str, Any]]:
    """Adds the job to an environment. Its result has the name of a family and an object of it."""
    by_name = {family.name: family for family in families}
    lines = folder / "lines.jsonl"
    lines.write_text("\n".join(LINES) + "\n")
    things = [(family.name, number, family.make(number)) for number in range(ROUNDS) for family in families]
    numbered = env.from_source(CollectionSource(things, records_per_batch=len(families)), source_name="things")
    in_state: Any = numbered.key_by(lambda v: v[0]).process(InState(by_name, str(folder / "repaired"))).uid("in-state")
    keys = numbered.filter(lambda v: bool(by_name[v[0]].key)).key_by(lambda v: v[2])
    by_key: Any = keys.process(ByKey(by_name)).uid("by-key")
    with_rules: Any = numbered.connect(numbered.broadcast(RULES)).process(WithRules(by_name)).uid("rules")
    decoded: Any = env.from_source(
        json_lines(lines, by_name["order"].kind), source_name="lines", on_error="dead_letter"
    )
    problems = decoded.get_side_output(DEAD_LETTERS).map(lambda letter: ("bad line", letter.element))
    orders = decoded.map(lambda order: ("order", expect(by_name["order"], order)))
    results: ps.DataStream[tuple[str, Any]] = in_state.union(by_key, with_rules, orders, problems)
    return results


def run(env: ps.StreamExecutionEnvironment, families: list[Any], folder: Path) -> None:
    """Runs the job, checks all objects that come back to this process, and prints what it has found as JSON."""
    by_name = {family.name: family for family in families}
    counts: dict[str, int] = {}
    with build(env, families, folder).execute_and_collect() as results:
        for name, thing in results:
            if name != "bad line":
                expect(by_name[name], thing)
            counts[name] = counts.get(name, 0) + 1
    print(json.dumps(counts))
