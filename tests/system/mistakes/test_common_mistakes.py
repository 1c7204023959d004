"""Common mistakes of users who move a PyFlink job, and the error messages that they get.

Each test is one mistake. A message says what was found, what was expected and what to do next, and names the operator, the
line and the element. Mistakes that need Spark are in test_mistakes_on_spark.py.
"""

from __future__ import annotations

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

HERE = "tests/system/mistakes/test_common_mistakes.py"


def error_of(program: Callable[[], Any]) -> str:
    """Returns the message of the error that a program raises."""
    with pytest.raises(PenstockError) as raised:
        program()
    return str(raised.value)


def error_of_stream(build: Callable[[ps.DataStream[Any]], Any], *elements: Any) -> str:
    """Returns the message of the error that a pipeline raises for some elements."""
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(build(env.from_source(PushSource(), source_name="orders")))
    return error_of(lambda: harness.push_all(elements))


def line(function: Callable[..., Any], after: int = 0) -> str:
    return f"{HERE}:{function.__code__.co_firstlineno + after}"


# -- building a job


def test_a_job_without_a_sink() -> None:
    """The pipeline has no sink, so it would produce no output."""
    env = ps.StreamExecutionEnvironment()
    env.from_collection([1, 2, 3]).map(lambda n: n + 1)
    assert error_of(lambda: env.execute("numbers")) == (
        "[NO_SINK] No operators defined in streaming topology: job 'numbers' has no sink. "
        "Add sink_to() or print() to a stream."
    )


class Total(ps.KeyedProcessFunction):
    """A keyed function with state."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))

    def process_element(self, order: tuple[str, int], ctx: Any) -> Iterable[Any]:
        self.total.update((self.total.value() or 0) + order[1])
        yield order[0], self.total.value()


def test_a_keyed_function_on_a_non_keyed_stream() -> None:
    """The function is keyed and the stream is not."""
    orders: Any = ps.StreamExecutionEnvironment().from_collection([("ann", 5)])
    assert error_of(lambda: orders.process(Total())) == (
        "[FUNCTION_TYPE] process() got a Total; it takes a ProcessFunction; call key_by first to use a KeyedProcessFunction."
    )


def test_two_operators_with_the_same_uid() -> None:
    """A line was copied together with its uid."""
    env = ps.StreamExecutionEnvironment()
    orders = env.from_collection([("ann", 5)]).key_by(lambda order: order[0])
    orders.process(Total()).name("in euros").uid("total").print()
    orders.process(Total()).name("in dollars").uid("total").print()
    message = error_of(env.execute)
    assert message.startswith("[DUPLICATE_UID] Two operators have uid 'total': 'in euros' (test_common_mistakes.py:")
    assert message.endswith("A checkpoint identifies operators by their uids. Set another uid for one of them.")


def test_a_function_that_uses_a_lock() -> None:
    """Functions are sent to other processes, and a lock cannot be pickled."""
    lock = threading.Lock()
    enrich = lambda order: (lock, order)  # noqa: E731 - the message names the line of a lambda
    assert error_of_stream(lambda orders: orders.map(enrich), 1) == (
        f"[UNPICKLABLE] The lambda at {line(enrich)} of operator 'map' uses `lock`, a _thread.lock, which cannot be sent to "
        "other processes (cannot pickle '_thread.lock' object). Create it where it is used, in open() of a function class or "
        "inside the function."
    )


def test_a_misspelled_option() -> None:
    """The message suggests the most similar name."""
    message = error_of(lambda: ps.Configuration({"state.backed": "hashmap"}))
    assert message.startswith("[UNKNOWN_OPTION] There is no option 'state.backed'.")
    assert "'state.backend" in message


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    """The path of the file source is wrong."""
    path = str(tmp_path / "orders.jsonl")
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(json_lines(path)))
    message = error_of(harness.run)
    assert message.startswith(
        f"[FILE_NOT_FOUND] The path {path} of the file source does not exist. Create it or correct the path."
    )


# -- keys


def test_a_key_that_is_none() -> None:
    """The message names the element without a key."""
    by_customer = lambda order: order.get("customer")  # noqa: E731
    assert error_of_stream(lambda orders: orders.key_by(by_customer), {"customer": "ann"}, {"item": 7}) == (
        "[KEY_IS_NONE] The key of an element is None. A key must have a value; filter such elements out before key_by. "
        f"(In operator 'key_by' (uid 'key_by-1'), {line(by_customer)}, key None, element {{'item': 7}}, from source 'orders', "
        "split '0', position 1, batch 0.)"
    )


def test_a_key_that_is_a_dict() -> None:
    """The key is the whole element, and not a field."""
    by_order = lambda order: order  # noqa: E731
    assert error_of_stream(lambda orders: orders.key_by(by_order), {"item": 7}) == (
        "[KEY_UNHASHABLE] The key of an element is {'item': 7}, but a dict has no hash and cannot be a key. Use a tuple, a "
        "frozenset or a frozen dataclass. (In operator 'key_by' (uid 'key_by-1'), "
        f"{line(by_order)}, key {{'item': 7}}, element {{'item': 7}}, from source 'orders', split '0', position 0, batch 0.)"
    )


class Customer:
    """A class without __eq__ and __hash__."""

    def __repr__(self) -> str:
        return "<Customer ann>"


def test_a_key_that_is_an_object_of_a_custom_class() -> None:
    """Python hashes it by its address, which differs between processes."""
    message = error_of_stream(lambda orders: orders.key_by(lambda order: Customer()), 1)
    assert message.startswith(
        "[KEY_TYPE] <Customer ann> of type Customer cannot be a key, because it would not be the same key in every process: "
        "its class does not declare the values that identify it. Return these values from the key selector, "
    )


# -- state


class ReadsStateInOpen(Total):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        super().open(runtime_context)
        self.before = self.total.value()


def test_state_that_is_read_in_open() -> None:
    """In open there is no current key."""
    assert error_of_stream(
        lambda orders: orders.key_by(lambda order: order[0]).process(ReadsStateInOpen()), ("ann", 5)
    ) == (
        "[STATE_OUTSIDE_KEY] Keyed state was used while no key is current (in open(), in close(), or for a broadcast element). "
        "Use it only while an element or a timer of a key is processed. (In operator 'process' (uid 'process-1'), "
        f"{line(ReadsStateInOpen.open, 2)} in ReadsStateInOpen.open.)"
    )


class UsesState(ps.MapFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ps.ValueStateDescriptor("seen", bool))

    def map(self, value: Any) -> Any:
        return value


def test_state_on_a_non_keyed_stream() -> None:
    """Keyed state requires a keyed stream."""
    message = error_of_stream(lambda orders: orders.map(UsesState()), 1)
    assert message.startswith(
        "[STATE_WITHOUT_KEY] Operator 'map' uses state 'seen', but its stream has no key. Call key_by first. (In operator"
    )


class TwoTotals(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))
        self.by_item = runtime_context.get_map_state(ps.MapStateDescriptor("total", str, int))

    def process_element(self, order: Any, ctx: Any) -> None:
        self.total.update(1)


def test_two_states_with_the_same_name() -> None:
    """The states would overwrite each other."""
    message = error_of_stream(lambda orders: orders.key_by(lambda order: order[0]).process(TwoTotals()), ("ann", 5))
    assert message.startswith(
        "[STATE_NAME_TWICE] Operator 'process-1' has two states with the name 'total': value state of "
    )
    assert (
        "They would share their values. Give one of them another name. (In operator 'process' (uid 'process-1'), "
        in message
    )
    assert f"{line(TwoTotals.open, 2)} in TwoTotals.open.)" in message


def test_a_state_value_of_another_type() -> None:
    """The declared type is int and the value is a str. Writing it fails, not reading it later."""

    class Last(ps.KeyedProcessFunction):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.price = runtime_context.get_state(ps.ValueStateDescriptor("price", int))

        def process_element(self, order: Any, ctx: Any) -> None:
            self.price.update(order[1])

    message = error_of_stream(lambda orders: orders.key_by(lambda order: order[0]).process(Last()), ("ann", "5"))
    assert message.startswith("[STATE_VALUE] State 'price': A value does not fit the declared type int: '5' is a str")
    assert (
        "The batch was not committed. (In operator 'process' (uid 'process-1'), "
        f"{line(Last.process_element, 1)} in Last.process_element, key 'ann', element ('ann', '5'), "
    ) in message


# -- time


class SetsTimer(ps.KeyedProcessFunction):
    def process_element(self, order: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)


def test_elements_without_timestamps() -> None:
    """The message explains the cause. Python alone would report unsupported operand types."""
    assert error_of_stream(lambda orders: orders.key_by(lambda order: order[0]).process(SetsTimer()), ("ann", 5)) == (
        "[ELEMENT_WITHOUT_TIMESTAMP] `ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)` needs a "
        "timestamp, but ctx.timestamp() is None because the element has none. Call assign_timestamps_and_watermarks with a "
        "timestamp assigner before this operator. (In operator 'process' (uid 'process-1'), "
        f"{line(SetsTimer.process_element, 1)} in SetsTimer.process_element, key 'ann', element ('ann', 5), from source 'orders', "
        "split '0', position 0, batch 0.)"
    )


def test_timestamps_that_are_dates() -> None:
    """Timestamps are in milliseconds, as in Flink."""
    at = lambda order, before: order["at"]  # noqa: E731
    strategy = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(at)
    message = error_of_stream(
        lambda orders: orders.assign_timestamps_and_watermarks(strategy), {"at": datetime(2026, 1, 2)}
    )
    assert message.startswith(
        "[TIMESTAMP_TYPE] The timestamp assigner returned datetime.datetime(2026, 1, 2, 0, 0), but a timestamp is a number of "
        "milliseconds. Convert it in the assigner, for example a datetime by int(t.timestamp() * 1000)."
    )


class SetsClockTimer(ps.ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 1000)


def test_a_timer_on_a_non_keyed_stream() -> None:
    """Timers require a keyed stream."""
    assert error_of_stream(lambda orders: orders.process(SetsClockTimer()), 1) == (
        "[TIMER_WITHOUT_KEY] A timer was registered on a stream without a key. Call key_by before process. (In operator 'process' "
        f"(uid 'process-1'), {line(SetsClockTimer.process_element, 1)} in SetsClockTimer.process_element, element 1, "
        "from source 'orders', split '0', position 0, batch 0.)"
    )


class RenewsTimer(ps.KeyedProcessFunction):
    """Registers a new timer whenever a timer fires, also at the end of the input."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(0)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(timestamp + 1000)


@pytest.mark.slow
def test_a_timer_that_is_always_renewed() -> None:
    """At the end of bounded input the watermark is at its maximum, so each new timer is due immediately."""
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).key_by(lambda v: "all").process(RenewsTimer()))
    harness.push(1)
    message = error_of(harness.end)
    assert message.startswith("[TIMER_WITHOUT_END] At the end of input, operator 'process' fired ")
    assert "Stop registering timers when the current watermark is the maximum watermark." in message


# -- elements for which functions raise exceptions


def price(order: dict[str, Any]) -> float:
    total: float = order["total"] / order["count"]
    return total


def test_a_function_that_raises() -> None:
    """The message names the line, the element, its position in the source, and what happened to the batch."""
    orders = [{"total": 10, "count": 2}, {"total": 10, "count": 0}]
    assert error_of_stream(lambda s: s.map(price).name("price").uid("price"), *orders) == (
        f"[USER_FUNCTION] Operator 'price' raised ZeroDivisionError: division by zero at {line(price, 1)} in price, element "
        "{'total': 10, 'count': 0}, from source 'orders', split '0', position 1, batch 0. The batch was not committed. Fix "
        'the function and resume the job, or set on_error="dead_letter" on the operator to send such elements to its '
        "dead-letter output."
    )


def test_dead_letters_of_an_operator_without_dead_letters() -> None:
    """The operator was created without on_error="dead_letter"."""
    orders = ps.StreamExecutionEnvironment().from_collection([{"total": 10, "count": 0}])
    assert error_of(lambda: orders.map(price).get_side_output(ps.DEAD_LETTERS)) == (
        "[NO_DEAD_LETTERS] Operator 'map' has no dead-letter output because an error in it fails the job. Set "
        'on_error="dead_letter" where the operator is created.'
    )


def test_a_misspelled_on_error() -> None:
    """The value has a hyphen and not an underscore."""
    orders: Any = ps.StreamExecutionEnvironment().from_collection([])
    assert error_of(lambda: orders.map(price, on_error="dead-letter")) == (
        '[ON_ERROR] map() got on_error=\'dead-letter\'. Pass "fail" to fail the job, or "dead_letter" to send the element '
        "to the side output DEAD_LETTERS."
    )


def test_an_invalid_line_in_a_file(tmp_path: Path) -> None:
    """The message names the byte position and shows the start of the line."""
    (tmp_path / "orders.jsonl").write_text('{"total": 1}\n{"total": \n')
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(json_lines(str(tmp_path / "orders.jsonl")), source_name="orders"))
    message = error_of(harness.run)
    assert message.startswith("[BAD_RECORD] The record of file ")
    assert "orders.jsonl, byte 13 cannot be decoded: " in message
    assert "It starts with b'{\"total\": '. The batch was not committed. Correct the record and resume" in message
    assert "or with on_error=\"skip\" to drop and count them. (In source 'orders'" in message


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
    return error_of(lambda: harness.push(10, source="rules"))


def test_subtasks_that_change_broadcast_state_differently() -> None:
    """Each subtask has its own copy of broadcast state, and all copies must be equal."""
    assert broadcast(RulesBySubtask()) == (
        "[BROADCAST_DIFFERS] The subtasks of operator 'broadcast_process-1' changed their copies of broadcast state in "
        "different ways. process_broadcast_element must do the same in every subtask. Do not use the subtask index, the clock "
        "or random numbers in it."
    )


def test_keyed_state_in_process_broadcast_element() -> None:
    """A broadcast element has no key."""
    message = broadcast(RulesByKey())
    assert message.startswith(
        "[STATE_OUTSIDE_KEY] Keyed state was used while no key is current (in open(), in close(), or for a"
    )
    assert (
        f"{line(RulesByKey.process_broadcast_element, 1)} in RulesByKey.process_broadcast_element, element 10"
        in message
    )
