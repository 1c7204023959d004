"""Wrong arguments and mistakes in functions, and the error messages that users get. Each test is one mistake."""

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

HERE = "tests/system/mistakes/test_wrong_arguments.py"


def error_of(program: Callable[[], Any]) -> str:
    with pytest.raises(PenstockError) as raised:
        program()
    return str(raised.value)


def error_of_stream(build: Callable[[Any], Any], *elements: Any) -> str:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    stream = build(env.from_source(PushSource(), source_name="orders"))
    harness.collect(stream)
    return error_of(lambda: harness.push_all(elements))


def orders() -> Any:
    return ps.StreamExecutionEnvironment().from_collection([("ann", 5)])


# -- wrong arguments


def test_key_by_with_a_field_name() -> None:
    """Old versions of Flink accepted names and positions."""
    assert error_of(lambda: orders().key_by("user")) == (
        "[FUNCTION_TYPE] key_by() got a str; it takes a KeySelector or a plain function; "
        "for a field, use key_by(lambda e: e['user'])."
    )


def test_a_type_without_parentheses() -> None:
    message = error_of(lambda: orders().map(lambda order: order[1], ps.Types.INT))
    assert message.startswith("[TYPE_EXPECTED] <function Types.INT at ")
    assert message.endswith("an annotation such as list[int]. Call it: Types.INT().")


@pytest.mark.parametrize(
    "strategy",
    [ps.WatermarkStrategy, lambda order: order[1], ps.WatermarkStrategy.for_monotonous_timestamps],
    ids=["the class", "an assigner", "without parentheses"],
)
def test_a_wrong_watermark_strategy(strategy: Any) -> None:
    message = error_of(lambda: orders().assign_timestamps_and_watermarks(strategy))
    assert message.startswith("[ARGUMENT_TYPE] assign_timestamps_and_watermarks() got ")
    assert "It takes a WatermarkStrategy, such as WatermarkStrategy.for_bounded_out_of_orderness(" in message


def test_a_side_output_by_name() -> None:
    assert error_of(lambda: orders().get_side_output("late")) == (
        "[ARGUMENT_TYPE] get_side_output() got a str: 'late'. It takes the OutputTag that the function yields, such "
        'as OutputTag("late").'
    )


def test_a_path_as_a_source() -> None:
    env: Any = ps.StreamExecutionEnvironment()
    assert error_of(lambda: env.from_source("orders.txt")) == (
        "[ARGUMENT_TYPE] from_source() got a str: 'orders.txt'. It takes a Source, such as FileSource(path). "
        "For elements, use from_collection."
    )
    assert error_of(lambda: env.from_collection(5)).startswith("[ARGUMENT_TYPE] from_collection() got a int: 5.")


def test_a_path_or_function_as_a_sink() -> None:
    for sink in ("out.json", print):
        message = error_of(lambda sink=sink: orders().sink_to(sink))  # type: ignore[misc]
        assert "It takes a Sink, such as JsonLinesSink(folder). For a function, use add_sink." in message


def test_a_list_of_streams() -> None:
    first = orders()
    assert "It takes streams as separate arguments: a.union(b, c)" in error_of(lambda: first.union([first, first]))
    assert "connect() got a list" in error_of(lambda: first.connect([first]))


def test_a_parallelism_that_is_a_string() -> None:
    env: Any = ps.StreamExecutionEnvironment()
    assert error_of(lambda: env.set_parallelism("4")) == (
        "[PARALLELISM] The parallelism is '4', but must be an integer of at least 1."
    )


def test_a_time_to_live_that_is_a_number() -> None:
    descriptor: Any = ps.ValueStateDescriptor("total", int)
    assert error_of(lambda: descriptor.enable_time_to_live(5)).startswith(
        "[STATE_TTL] enable_time_to_live() got 5. Pass a StateTtlConfig such as StateTtlConfig.new_builder("
    )


# -- mistakes in functions


@pytest.mark.parametrize("descriptor", ["total", ps.ListStateDescriptor("total", int)])
def test_state_by_name_or_by_a_wrong_descriptor(descriptor: Any) -> None:
    class Total(ps.KeyedProcessFunction):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.total = runtime_context.get_state(descriptor)

        def process_element(self, order: Any, ctx: Any) -> Iterable[Any]:
            yield order

    message = error_of_stream(lambda s: s.key_by(lambda o: o[0]).process(Total()), ("ann", 5))
    assert message.startswith("[STATE_DESCRIPTOR] get_state() got ")
    assert 'but expects a ValueStateDescriptor, such as ValueStateDescriptor("total", int).' in message
    assert f"(In operator 'process' (uid 'process-1'), {HERE}:" in message


def test_an_element_that_is_returned_and_not_yielded() -> None:
    class Amount(ps.KeyedProcessFunction):
        def process_element(self, order: Any, ctx: Any) -> Any:
            return order[1]

    for build in (lambda s: s.key_by(lambda o: o[0]).process(Amount()), lambda s: s.flat_map(lambda o: o[1])):
        message = error_of_stream(build, ("ann", 5))
        assert message.startswith("[FUNCTION_RESULT] The function returned one value of type int: 5.")
        assert "use `yield value` or `return [value]`. (In operator '" in message
        assert f", {HERE}:" in message
        assert "element ('ann', 5)" in message


def test_open_without_a_parameter() -> None:
    class Amount(ps.KeyedProcessFunction):
        def open(self) -> None:  # type: ignore[override]
            pass

        def process_element(self, order: Any, ctx: Any) -> Any:
            yield order

    message = error_of_stream(lambda s: s.key_by(lambda o: o[0]).process(Amount()), ("ann", 5))
    assert "open() takes 1 positional argument but 2 were given" in message
    assert f"at {HERE}:" in message


def test_an_element_that_cannot_be_pickled() -> None:
    message = error_of_stream(lambda s: s.map(lambda o: threading.Lock()).key_by(lambda o: 1).map(lambda o: o), 1)
    assert message.startswith("[ELEMENT_NOT_PICKLABLE] Element <unlocked _thread.lock object at ")
    assert "sent to 'key_by' is a lock and cannot be pickled" in message


def test_a_state_value_that_cannot_be_pickled() -> None:
    class Locks(ps.KeyedProcessFunction):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.lock = runtime_context.get_state(ps.ValueStateDescriptor("lock"))

        def process_element(self, order: Any, ctx: Any) -> None:
            self.lock.update(threading.Lock())

    message = error_of_stream(lambda s: s.key_by(lambda o: o[0]).process(Locks()), ("ann", 5))
    assert message.startswith("[STATE_NOT_PICKLABLE] State 'lock': A value of type lock cannot be pickled")
    assert "(In operator 'process'" in message
    assert " in Locks.process_element, key 'ann'" in message


# -- on the command line


def test_a_program_that_never_calls_execute(tmp_path: Path) -> None:
    """The program ends without an error and without running a job."""
    program = "import penstock as ps\nps.StreamExecutionEnvironment().from_collection([1]).print()\n"
    (tmp_path / "job.py").write_text(program)
    command = [sys.executable, "-m", "penstock", "run", "job.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "penstock: job.py ended without running a job. A job runs when env.execute() is called.\n"
