"""Ann is new here. She knows PyFlink, has a day to move a job, and makes the mistakes that everybody makes.

Each test is one of her mistakes: what she does, why, and what she is told. A message says what was found, what was
expected and what to do next, in the words of her program. Those that need Spark are in test_mistakes_on_spark.py.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.connectors import json_lines
from penstock.errors import PenstockError
from penstock.testing import Harness, PushSource

HERE = "tests/mistakes/test_twenty_mistakes.py"


def tried(program: Callable[[], Any]) -> str:
    """What Ann reads when she runs it."""
    with pytest.raises(PenstockError) as told:
        program()
    return str(told.value)


def pushed(build: Callable[[ps.DataStream[Any]], Any], *elements: Any) -> str:
    """What Ann reads when a pipeline gets these elements in her first test."""
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(build(env.from_source(PushSource(), source_name="orders")))
    return tried(lambda: harness.push_all(elements))


def line(function: Callable[..., Any], after: int = 0) -> str:
    return f"{HERE}:{function.__code__.co_firstlineno + after}"


def line_of_class(function: type) -> str:
    return f"{HERE}:{inspect.getsourcelines(function)[1]}"


# -- putting a job together


def test_1_she_forgets_the_sink() -> None:
    """She builds the pipeline, looks forward to its output, and sends it nowhere."""
    env = ps.StreamExecutionEnvironment()
    env.from_collection([1, 2, 3]).map(lambda n: n + 1)
    assert tried(lambda: env.execute("numbers")) == (
        "[NO_SINK] No operators defined in streaming topology: job 'numbers' has no sink, so nothing would come out. "
        "Add sink_to() or print() to a stream."
    )


class Total(ps.KeyedProcessFunction):
    """The function that she came with."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))

    def process_element(self, order: tuple[str, int], ctx: Any) -> Iterable[Any]:
        self.total.update((self.total.value() or 0) + order[1])
        yield order[0], self.total.value()


def test_2_she_forgets_key_by() -> None:
    """Her function is keyed, her stream is not."""
    orders: Any = ps.StreamExecutionEnvironment().from_collection([("ann", 5)])
    assert tried(lambda: orders.process(Total())) == (
        "[FUNCTION_TYPE] process() got a Total; it takes a ProcessFunction; call key_by first to use a KeyedProcessFunction."
    )


def test_3_she_gives_two_operators_one_uid() -> None:
    """She copies a line, and its uid with it. A checkpoint could not tell the two states apart."""
    env = ps.StreamExecutionEnvironment()
    orders = env.from_collection([("ann", 5)]).key_by(lambda order: order[0])
    orders.process(Total()).name("in euros").uid("total").print()
    orders.process(Total()).name("in dollars").uid("total").print()
    message = tried(env.execute)
    assert message.startswith("[DUPLICATE_UID] Two operators have uid 'total': 'in euros' (test_twenty_mistakes.py:")
    assert message.endswith("a checkpoint could not tell them apart. Give one of them another uid.")


def test_4_she_takes_a_lock_along() -> None:
    """Something in her module is shared by threads. Functions go to other processes, where there is no such lock."""
    lock = threading.Lock()
    enrich = lambda order: (lock, order)  # noqa: E731 - this is how it stands in her program
    assert pushed(lambda orders: orders.map(enrich), 1) == (
        f"[UNPICKLABLE] The lambda at {line(enrich)} of operator 'map' uses `lock`, a _thread.lock, which cannot be sent to "
        "other processes (cannot pickle '_thread.lock' object). Make it where it is used: in open() of a function class, or "
        "inside the function."
    )


def test_5_she_wants_more_subtasks_than_there_are() -> None:
    """In Flink every operator may have its own parallelism; in one Spark query it can only be less."""
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    env.from_collection([1]).map(lambda n: n).set_parallelism(8).print()
    assert tried(env.execute) == (
        "[PARALLELISM] Operator 'map' wants parallelism 8, and the job has 2. Spark gives all stages of one query the same "
        "number of partitions, so an operator can have less but not more: raise the job's parallelism with "
        "env.set_parallelism()."
    )


def test_6_she_misspells_an_option() -> None:
    """The nearest name is usually the right one."""
    message = tried(lambda: ps.Configuration({"state.backed": "hashmap"}))
    assert message.startswith("[UNKNOWN_OPTION] There is no option 'state.backed'.")
    assert "'state.backend" in message


def test_7_she_reads_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A path from another machine."""
    path = str(tmp_path / "orders.jsonl")
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(json_lines(path)))
    message = tried(harness.run)
    assert message.startswith(
        f"[FILE_NOT_FOUND] The file source's path {path} does not exist. Create it, or correct the path."
    )


# -- keys


def test_8_an_order_has_no_customer() -> None:
    """One element of a million has no key. She learns which one."""
    by_customer = lambda order: order.get("customer")  # noqa: E731
    assert pushed(lambda orders: orders.key_by(by_customer), {"customer": "ann"}, {"item": 7}) == (
        "[KEY_IS_NONE] The key of an element is None. A key must be a value; filter such elements out first. "
        f"(In operator 'key_by' (uid 'key_by-1'), {line(by_customer)}, key None, element {{'item': 7}}, from source 'orders', "
        "split '0', position 1, batch 0.)"
    )


def test_9_her_key_is_a_list() -> None:
    """Two fields as a key, in the wrong brackets."""
    by_both = lambda order: [order["customer"], order["item"]]  # noqa: E731
    assert pushed(lambda orders: orders.key_by(by_both), {"customer": "ann", "item": 7}) == (
        "[KEY_UNHASHABLE] The key of an element is ['ann', 7], and a list can change, so it cannot be a key. Use a tuple for a "
        "list, a frozenset for a set, a frozen dataclass for one that is not. (In operator 'key_by' (uid 'key_by-1'), "
        f"{line(by_both)}, key ['ann', 7], element {{'customer': 'ann', 'item': 7}}, from source 'orders', split '0', "
        "position 0, batch 0.)"
    )


class Customer:
    """Equal to nothing but itself."""

    def __repr__(self) -> str:
        return "<Customer ann>"


def test_10_her_key_is_an_object_of_her_own() -> None:
    """Python hashes it by its address, which is another one in every process."""
    message = pushed(lambda orders: orders.key_by(lambda order: Customer()), 1)
    assert message.startswith(
        "[KEY_TYPE] <Customer ann> of type Customer cannot be a key: it would not be the same key in every process. Use a str, "
    )


# -- state


class ReadsTooEarly(Total):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        super().open(runtime_context)
        self.before = self.total.value()


def test_11_she_reads_state_in_open() -> None:
    """In open there is no element yet, so there is no key whose state it could be."""
    assert pushed(lambda orders: orders.key_by(lambda order: order[0]).process(ReadsTooEarly()), ("ann", 5)) == (
        "[STATE_OUTSIDE_KEY] Keyed state was used where no key is current (in open(), close(), or a broadcast element). Use it "
        "while an element or a timer of a key is processed. (In operator 'process' (uid 'process-1'), "
        f"{line(ReadsTooEarly.open, 2)} in ReadsTooEarly.open.)"
    )


class Remembers(ps.MapFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ps.ValueStateDescriptor("seen", bool))

    def map(self, value: Any) -> Any:
        return value


def test_12_she_asks_for_state_without_a_key() -> None:
    """State belongs to keys."""
    message = pushed(lambda orders: orders.map(Remembers()), 1)
    assert message.startswith(
        "[STATE_WITHOUT_KEY] Operator 'map' asks for state 'seen', and its stream has no key. Call key_by first. (In operator"
    )


class TwoTotals(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))
        self.by_item = runtime_context.get_map_state(ps.MapStateDescriptor("total", str, int))

    def process_element(self, order: Any, ctx: Any) -> None:
        self.total.update(1)


def test_13_two_of_her_states_have_one_name() -> None:
    """They would overwrite each other."""
    message = pushed(lambda orders: orders.key_by(lambda order: order[0]).process(TwoTotals()), ("ann", 5))
    assert message.startswith(
        "[STATE_NAME_TWICE] Operator 'process-1' has two states of the name 'total': value state of "
    )
    assert (
        "They would share their values. Give one of them another name. (In operator 'process' (uid 'process-1'), "
        in message
    )
    assert f"{line(TwoTotals.open, 2)} in TwoTotals.open.)" in message


def test_14_her_price_is_a_string() -> None:
    """She declared a number and a string came. It fails where it is written, not weeks later where it is read."""

    class Last(ps.KeyedProcessFunction):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.price = runtime_context.get_state(ps.ValueStateDescriptor("price", int))

        def process_element(self, order: Any, ctx: Any) -> None:
            self.price.update(order[1])

    message = pushed(lambda orders: orders.key_by(lambda order: order[0]).process(Last()), ("ann", "5"))
    assert message.startswith(
        "[STATE_VALUE] State 'price': A value for a state of type int does not fit it: '5' is a str"
    )
    assert message.endswith(
        f"the batch was not committed. (In operator 'process' (uid 'process-1'), {line_of_class(Last)}.)"
    )


# -- time


class Reminds(ps.KeyedProcessFunction):
    def process_element(self, order: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)


def test_15_her_elements_have_no_timestamps() -> None:
    """In her old job the Kafka source gave them one. Python alone would say: unsupported operand type(s)."""
    assert pushed(lambda orders: orders.key_by(lambda order: order[0]).process(Reminds()), ("ann", 5)) == (
        "[ELEMENT_WITHOUT_TIMESTAMP] `ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)` needs the "
        "element's timestamp, and ctx.timestamp() is None: the element has none. Call assign_timestamps_and_watermarks with a "
        "timestamp assigner before this operator. (In operator 'process' (uid 'process-1'), "
        f"{line(Reminds.process_element, 1)} in Reminds.process_element, key 'ann', element ('ann', 5), from source 'orders', "
        "split '0', position 0, batch 0.)"
    )


def test_16_her_timestamps_are_dates() -> None:
    """Timestamps are milliseconds, as in Flink."""
    at = lambda order, before: order["at"]  # noqa: E731
    strategy = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(at)
    message = pushed(lambda orders: orders.assign_timestamps_and_watermarks(strategy), {"at": datetime(2026, 1, 2)})
    assert message.startswith(
        "[TIMESTAMP_TYPE] The timestamp assigner gave datetime.datetime(2026, 1, 2, 0, 0) for an element; a timestamp is a "
        "number of milliseconds. Let the assigner convert it, for example by int(t.timestamp() * 1000) from a datetime."
    )


class Pings(ps.ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 1000)


def test_17_she_sets_a_timer_without_a_key() -> None:
    """Timers belong to keys, too."""
    assert pushed(lambda orders: orders.process(Pings()), 1) == (
        "[TIMER_WITHOUT_KEY] A timer was set on a stream that has no key. Call key_by before process. (In operator 'process' "
        f"(uid 'process-1'), {line(Pings.process_element, 1)} in Pings.process_element, element 1, from source 'orders', "
        "split '0', position 0, batch 0.)"
    )


class Ticks(ps.KeyedProcessFunction):
    """A clock that renews itself for ever, also when time has ended."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(0)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(timestamp + 1000)


@pytest.mark.slow
def test_18_her_timer_never_stops() -> None:
    """At the end of bounded input the watermark is at its highest, and each new timer is due at once."""
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).key_by(lambda v: "all").process(Ticks()))
    harness.push(1)
    message = tried(harness.end)
    assert message.startswith("[TIMER_WITHOUT_END] At the end of input, operator 'process' fired ")
    assert "Stop renewing when the current watermark is the maximal one." in message


# -- elements that break functions


def price(order: dict[str, Any]) -> float:
    total: float = order["total"] / order["count"]
    return total


def test_19_a_function_of_hers_raises() -> None:
    """The one order of a million that nobody thought of. She learns where, on what, and what became of the rest."""
    orders = [{"total": 10, "count": 2}, {"total": 10, "count": 0}]
    assert pushed(lambda s: s.map(price).name("price").uid("price"), *orders) == (
        f"[USER_FUNCTION] Operator 'price' raised ZeroDivisionError: division by zero at {line(price, 1)} in price, element "
        "{'total': 10, 'count': 0}, from source 'orders', split '0', position 1, batch 0. The batch was not committed: mend "
        'the function and resume, or give the operator on_error="dead_letter" to put such elements aside.'
    )


def test_20_she_asks_for_dead_letters_that_nobody_writes() -> None:
    """She has read of dead letters, and takes the second step before the first."""
    orders = ps.StreamExecutionEnvironment().from_collection([{"total": 10, "count": 0}])
    assert tried(lambda: orders.map(price).get_side_output(ps.DEAD_LETTERS)) == (
        "[NO_DEAD_LETTERS] The dead letters of operator 'map' were asked for, and it makes none: an error in it fails the job. "
        'Give the call that made it on_error="dead_letter".'
    )


def test_21_she_misspells_the_first_step() -> None:
    """A hyphen."""
    orders: Any = ps.StreamExecutionEnvironment().from_collection([])
    assert tried(lambda: orders.map(price, on_error="dead-letter")) == (
        '[ON_ERROR] map() got on_error=\'dead-letter\'; it takes "fail", so that an error fails the job, or "dead_letter", so '
        "that the element goes to the side output DEAD_LETTERS."
    )


def test_22_a_line_of_her_file_is_broken(tmp_path: Path) -> None:
    """She learns at which byte, and what stands there."""
    (tmp_path / "orders.jsonl").write_text('{"total": 1}\n{"total": \n')
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(json_lines(str(tmp_path / "orders.jsonl")), source_name="orders"))
    message = tried(harness.run)
    assert message.startswith("[BAD_RECORD] The record of file ")
    assert "orders.jsonl, byte 13 cannot be decoded: " in message
    assert "It starts with b'{\"total\": '. Nothing of the batch was committed: mend the record and resume" in message
    assert "or on_error=\"skip\" to drop and count them. (In source 'orders'" in message


class Rules(ps.KeyedBroadcastProcessFunction):
    RULES = ps.MapStateDescriptor("rules", str, int)

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.index = runtime_context.get_index_of_this_subtask()
        self.seen = runtime_context.get_state(ps.ValueStateDescriptor("seen", int))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.seen.update(1)


class RulesBySubtask(Rules):
    def process_broadcast_element(self, rule: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(self.RULES).put("limit", rule + self.index)


class RulesByKey(Rules):
    def process_broadcast_element(self, rule: Any, ctx: Any) -> None:
        self.seen.update(rule)


def broadcast(function: Rules) -> str:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env, parallelism=2)
    rules = env.from_source(PushSource(), source_name="rules").broadcast(Rules.RULES)
    orders = env.from_source(PushSource(), source_name="orders").key_by(lambda order: order)
    harness.collect(orders.connect(rules).process(function))
    return tried(lambda: harness.push(10, source="rules"))


def test_23_her_subtasks_disagree_about_the_rules() -> None:
    """Each subtask has its own copy of broadcast state, and all copies must be equal."""
    assert broadcast(RulesBySubtask()) == (
        "[BROADCAST_DIFFERS] The subtasks of operator 'broadcast_process-1' changed their copies of broadcast state in "
        "different ways. process_broadcast_element must do the same everywhere: no subtask index, clock or randomness in it."
    )


def test_24_she_changes_a_key_s_state_by_a_rule() -> None:
    """A rule is for all keys, so none is current."""
    message = broadcast(RulesByKey())
    assert message.startswith(
        "[STATE_OUTSIDE_KEY] Keyed state was used where no key is current (in open(), close(), or a"
    )
    assert (
        f"{line(RulesByKey.process_broadcast_element, 1)} in RulesByKey.process_broadcast_element, element 10"
        in message
    )
