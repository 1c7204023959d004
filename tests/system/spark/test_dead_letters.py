"""Dead letters on Spark: exactly once when a batch runs again, counted, with a warning if nobody reads them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import JsonLinesSink, ScriptedSource, Step
from penstock.errors import UnreadDeadLetters, UserFunctionError
from tests.system.spark.fails_once import LinesFailOnce
from tests.system.spark.processes import checkpoint_in, lines_of
from tests.system.spark.test_jobs import environment

pytestmark = pytest.mark.spark


class Sums(ps.KeyedProcessFunction):
    """Sums the numbers of a key. Raises for negative ones, after adding them."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ps.ValueStateDescriptor("sum", int))

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        self.sum.update((self.sum.value() or 0) + value)
        yield self.sum.value()
        if value < 0:
            raise ValueError(f"{value} is negative")


def parse(text: str) -> int:
    return int(text)


def build(folder: Path, *, read: bool = True, resume: str = "") -> ps.StreamExecutionEnvironment:
    env = environment(folder, **({"execution.resume": resume} if resume else {}))
    steps = [Step({"s": ["1", "x", "-2"]}), Step({"s": ["3", "-4", "y", "5"]})]
    numbers = (
        env.from_source(ScriptedSource(steps), source_name="texts").map(parse, on_error="dead_letter").uid("parse")
    )
    sums = numbers.key_by(lambda n: "all").process(Sums(), on_error="dead_letter").uid("sums")
    sums.sink_to(JsonLinesSink(folder / "out"))
    if read:
        dead = numbers.get_side_output(ps.DEAD_LETTERS).union(sums.get_side_output(ps.DEAD_LETTERS))
        described = dead.map(lambda d: [d.uid, d.element, d.error, d.key, d.source, d.split, d.position])
        described.sink_to(LinesFailOnce(folder / "dead", folder / "marker"))
    return env


def test_a_batch_that_runs_again_emits_each_dead_letter_once(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UserFunctionError, match=r"SINK_FAILED.*the sink fails once"):
        build(tmp_path).execute()
    result = build(tmp_path, resume=checkpoint_in(tmp_path / "checkpoints")).execute()
    assert lines_of(tmp_path / "out") == ["1", "4", "9"]
    assert lines_of(tmp_path / "dead") == sorted(
        [
            '["parse","x","ValueError",null,"texts","s",1]',
            '["parse","y","ValueError",null,"texts","s",5]',
            '["sums",-2,"ValueError","all","texts","s",2]',
            '["sums",-4,"ValueError","all","texts","s",4]',
        ]
    )
    counts = [report["dead"] for report in result.batches]
    assert {uid: sum(c.get(uid, 0) for c in counts) for uid in ("parse", "sums")} == {"parse": 2, "sums": 2}


class Steps(ps.WatermarkGenerator):
    """A generator with state, so it runs per split after an exchange. Raises for texts that are not numbers."""

    def __init__(self) -> None:
        self.highest = 0

    def on_event(self, event: str, event_timestamp: int, output: Any) -> None:
        self.highest = max(self.highest, int(event))
        output.emit_watermark(self.highest)

    def on_periodic_emit(self, output: Any) -> None:
        pass


def whole_number(text: str) -> Any:
    return None if text == "6" else int(text)


def refuse_two(number: int) -> None:
    if number == 2:
        raise OSError("no room for 2")


def test_dead_letters_of_watermark_generators_types_keys_and_sinks(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    texts = env.from_source(ScriptedSource([Step({"s": ["1", "x", "2"]}), Step({"s": ["3", "y", "4.5", "6"]})]))
    strategy = ps.WatermarkStrategy.for_generator(Steps)
    timed = texts.assign_timestamps_and_watermarks(strategy, on_error="dead_letter").name("clock").uid("clock")
    whole = timed.map(whole_number, ps.Types.INT(), on_error="dead_letter").uid("whole")
    keyed = whole.key_by(lambda n: n if n < 3 else str(n), ps.Types.INT(), on_error="dead_letter")
    sums = keyed.sum(0, on_error="dead_letter")
    sink = sums.add_sink(refuse_two, on_error="dead_letter").name("mail").uid("mail")
    letters = [s.get_side_output(ps.DEAD_LETTERS) for s in (timed, whole, keyed, sink)]
    dead = letters[0].union(*letters[1:])
    dead.map(lambda d: [d.operator, d.element, d.error]).sink_to(JsonLinesSink(tmp_path / "dead"))
    result = env.execute()
    assert lines_of(tmp_path / "dead") == [
        '["clock","4.5","ValueError"]',
        '["clock","x","ValueError"]',
        '["clock","y","ValueError"]',
        '["key_by",3,"InvalidKeyError"]',
        '["mail",2,"OSError"]',
        '["map","6","ElementError"]',
    ]
    assert sum(report["dead"].get("mail", 0) for report in result.batches) == 1


def test_unread_dead_letters_are_counted_with_a_warning(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.warns(UnreadDeadLetters, match="nobody reads") as warned:
        result = build(tmp_path, read=False).execute()
    assert sorted(str(t.message).split("'")[1] for t in warned) == ["parse", "sums"]
    assert sum(report["unread"].get("sums", 0) for report in result.batches) == 2
    assert lines_of(tmp_path / "out") == ["1", "4", "9"]
