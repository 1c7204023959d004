"""Ann's second day. She passes the wrong thing to the right method, and forgets what Python lets her forget.

As on her first day, each test is one mistake, and what she is told.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import PenstockError
from penstock.testing import Harness, PushSource

HERE = "tests/mistakes/test_second_day.py"


def tried(program: Callable[[], Any]) -> str:
    with pytest.raises(PenstockError) as told:
        program()
    return str(told.value)


def pushed(build: Callable[[Any], Any], *elements: Any) -> str:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    stream = build(env.from_source(PushSource(), source_name="orders"))
    harness.collect(stream)
    return tried(lambda: harness.push_all(elements))


def orders() -> Any:
    return ps.StreamExecutionEnvironment().from_collection([("ann", 5)])


# -- the wrong thing in the right place


def test_32_her_key_is_the_name_of_a_field() -> None:
    """Old Flink took names and positions."""
    assert tried(lambda: orders().key_by("user")) == (
        "[FUNCTION_TYPE] key_by() got a str; it takes a KeySelector or a plain function; "
        "for a field write key_by(lambda e: e['user'])."
    )


def test_33_she_forgets_the_parentheses_of_a_type() -> None:
    message = tried(lambda: orders().map(lambda order: order[1], ps.Types.INT))
    assert message.startswith("[TYPE_EXPECTED] <function Types.INT at ")
    assert message.endswith("an annotation such as list[int]. Call it: Types.INT().")


@pytest.mark.parametrize(
    "strategy",
    [ps.WatermarkStrategy, lambda order: order[1], ps.WatermarkStrategy.for_monotonous_timestamps],
    ids=["the class", "an assigner", "without parentheses"],
)
def test_34_her_strategy_is_none(strategy: Any) -> None:
    message = tried(lambda: orders().assign_timestamps_and_watermarks(strategy))
    assert message.startswith("[ARGUMENT_TYPE] assign_timestamps_and_watermarks() got ")
    assert "It takes a WatermarkStrategy, such as WatermarkStrategy.for_bounded_out_of_orderness(" in message


def test_35_she_asks_for_a_side_output_by_its_name() -> None:
    assert tried(lambda: orders().get_side_output("late")) == (
        "[ARGUMENT_TYPE] get_side_output() got a str: 'late'. It takes the OutputTag that the function yields with: "
        'OutputTag("late").'
    )


def test_36_she_reads_from_a_path() -> None:
    env: Any = ps.StreamExecutionEnvironment()
    assert tried(lambda: env.from_source("orders.txt")) == (
        "[ARGUMENT_TYPE] from_source() got a str: 'orders.txt'. It takes a Source, such as FileSource(path); "
        "from_collection takes elements themselves."
    )
    assert tried(lambda: env.from_collection(5)).startswith("[ARGUMENT_TYPE] from_collection() got a int: 5.")


def test_37_she_writes_to_a_path_and_to_a_function() -> None:
    for sink in ("out.json", print):
        message = tried(lambda sink=sink: orders().sink_to(sink))  # type: ignore[misc]
        assert "It takes a Sink, such as JsonLinesSink(folder); add_sink takes a function" in message


def test_38_she_puts_streams_into_a_list() -> None:
    first = orders()
    assert "It takes streams, one by one: a.union(b, c)" in tried(lambda: first.union([first, first]))
    assert "connect() got a list" in tried(lambda: first.connect([first]))


def test_39_her_parallelism_is_a_text() -> None:
    env: Any = ps.StreamExecutionEnvironment()
    assert tried(lambda: env.set_parallelism("4")) == (
        "[PARALLELISM] A parallelism of '4' was set; it must be a whole number, at least 1."
    )


def test_40_her_time_to_live_is_a_number() -> None:
    descriptor: Any = ps.ValueStateDescriptor("total", int)
    assert tried(lambda: descriptor.enable_time_to_live(5)).startswith(
        "[STATE_TTL] enable_time_to_live() got 5; it takes a StateTtlConfig: StateTtlConfig.new_builder("
    )


# -- in her functions


@pytest.mark.parametrize("descriptor", ["total", ps.ListStateDescriptor("total", int)])
def test_41_she_asks_for_state_by_its_name_or_by_another_kind(descriptor: Any) -> None:
    class Total(ps.KeyedProcessFunction):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.total = runtime_context.get_state(descriptor)

        def process_element(self, order: Any, ctx: Any) -> Iterable[Any]:
            yield order

    message = pushed(lambda s: s.key_by(lambda o: o[0]).process(Total()), ("ann", 5))
    assert message.startswith("[STATE_DESCRIPTOR] get_state() got ")
    assert 'it takes a ValueStateDescriptor, such as ValueStateDescriptor("total", int).' in message
    assert f"(In operator 'process' (uid 'process-1'), {HERE}:" in message


def test_42_she_returns_an_element_instead_of_yielding_it() -> None:
    class Amount(ps.KeyedProcessFunction):
        def process_element(self, order: Any, ctx: Any) -> Any:
            return order[1]

    for build in (lambda s: s.key_by(lambda o: o[0]).process(Amount()), lambda s: s.flat_map(lambda o: o[1])):
        message = pushed(build, ("ann", 5))
        assert "raised TypeError: 'int' object is not iterable (the function must yield its elements" in message
        assert f"at {HERE}:" in message
        assert "element ('ann', 5)" in message


def test_43_her_open_has_no_parameter() -> None:
    class Amount(ps.KeyedProcessFunction):
        def open(self) -> None:  # type: ignore[override]
            pass

        def process_element(self, order: Any, ctx: Any) -> Any:
            yield order

    message = pushed(lambda s: s.key_by(lambda o: o[0]).process(Amount()), ("ann", 5))
    assert "open() takes 1 positional argument but 2 were given" in message
    assert f"at {HERE}:" in message


def test_44_she_emits_what_cannot_travel() -> None:
    message = pushed(lambda s: s.map(lambda o: threading.Lock()).key_by(lambda o: 1).map(lambda o: o), 1)
    assert message.startswith("[ELEMENT_NOT_PICKLABLE] Element <unlocked _thread.lock object at ")
    assert "on its way to 'key_by' is a lock and cannot be pickled" in message


def test_45_she_keeps_what_cannot_rest() -> None:
    class Locks(ps.KeyedProcessFunction):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.lock = runtime_context.get_state(ps.ValueStateDescriptor("lock"))

        def process_element(self, order: Any, ctx: Any) -> None:
            self.lock.update(threading.Lock())

    message = pushed(lambda s: s.key_by(lambda o: o[0]).process(Locks()), ("ann", 5))
    assert message.startswith("[STATE_NOT_PICKLABLE] State 'lock': A lock was put into it, which cannot be pickled")
    assert "(In operator 'process'" in message


# -- at the terminal


def test_46_her_program_never_calls_execute(tmp_path: Path) -> None:
    """It ends well, and nothing has happened."""
    program = "import penstock as ps\nps.StreamExecutionEnvironment().from_collection([1]).print()\n"
    (tmp_path / "job.py").write_text(program)
    run = [sys.executable, "-m", "penstock", "run", "job.py"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "penstock: job.py ended and ran no job: nothing runs before env.execute() is called.\n"
