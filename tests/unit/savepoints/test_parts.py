"""Changed operators, sources and sinks: the check and the job reject the same ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.cep import CEP, Pattern
from penstock.connectors import Encoder, FileSink, FileSource
from penstock.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.connectors.source import Source
from penstock.engine.program.builder import build_program
from penstock.errors import CheckpointError
from penstock.formats import SimpleStringSchema
from penstock.functions import sum_of
from penstock.savepoints import SavedSink, open_savepoint
from penstock.savepoints.check import check_restore
from penstock.savepoints.evolution import AS_IS, INCOMPATIBLE
from penstock.savepoints.matching import match_savepoint
from penstock.savepoints.parts import DROPPED, NEW
from penstock.state import MapStateDescriptor, ValueStateDescriptor
from penstock.testing import Harness, PushSource
from penstock.whatif.redirected_sinks import redirect_sinks
from penstock.windows import SlidingEventTimeWindows, TumblingEventTimeWindows

RULES = MapStateDescriptor("rules", str, int)


class Last(ps.KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", int))

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield self.last.value()
        self.last.update(value["n"])


class LastWithRules(ps.KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", int))

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield self.last.value()
        self.last.update(value["n"])

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        pass


def _join(keyed: Any) -> Any:
    return keyed.interval_join(keyed).between(-5, 5).process(lambda a, b, ctx: [a])


def _pattern(keyed: Any) -> Any:
    pattern = Pattern.begin("first").where(lambda e: True).followed_by("second").where(lambda e: True)
    return CEP.pattern(keyed, pattern).select(lambda match: None)


TUMBLING, SLIDING = TumblingEventTimeWindows.of(100), SlidingEventTimeWindows.of(100, 50)
OPERATORS: dict[str, Callable[[Any], Any]] = {
    "process": lambda keyed: keyed.process(Last()),
    "window": lambda keyed: keyed.window(TUMBLING).reduce(lambda a, b: a),
    "window by columns": lambda keyed: keyed.window(TUMBLING).aggregates(total=sum_of("n")),
    "sliding by columns": lambda keyed: keyed.window(SLIDING).aggregates(total=sum_of("n")),
    "join": _join,
    "pattern": _pattern,
}


def job(operator: Callable[[Any], Any]) -> tuple[Harness, Any]:
    env = ps.StreamExecutionEnvironment()
    keyed = env.from_source(PushSource(), source_name="numbers").uid("numbers").key_by(lambda e: e["k"], key_type=str)
    stream = operator(keyed).uid("op")
    harness = Harness(env)
    return harness, harness.collect(stream)


@pytest.mark.parametrize("after", OPERATORS)
@pytest.mark.parametrize("before", OPERATORS)
def test_an_operator_of_another_kind_is_refused(tmp_path: Path, before: str, after: str) -> None:
    first, _ = job(OPERATORS[before])
    first.push({"k": "a", "n": 1}, 10)
    saved = first.savepoint(tmp_path / "saved")
    second, _ = job(OPERATORS[after])
    checked = check_restore(open_savepoint(saved), second.job.program)
    assert checked.compatible is (before == after)
    if before == after:
        second.restore_savepoint(saved).push({"k": "a", "n": 2}, 20)
        return
    with pytest.raises(CheckpointError) as refused:
        second.restore_savepoint(saved)
    assert refused.value.code in ("SAVEPOINT_OPERATOR_CHANGED", "SAVEPOINT_STATE_INCOMPATIBLE")
    assert "uid" in refused.value.text


def test_a_function_keeps_its_state_when_it_gets_a_broadcast_stream(tmp_path: Path) -> None:
    first, _ = job(OPERATORS["process"])
    first.push({"k": "a", "n": 1}, 10)
    saved = first.savepoint(tmp_path / "saved")

    env = ps.StreamExecutionEnvironment()
    keyed = env.from_source(PushSource(), source_name="numbers").uid("numbers").key_by(lambda e: e["k"], key_type=str)
    rules = env.from_source(PushSource(), source_name="rules").uid("rules").broadcast(RULES)
    second = Harness(env)
    out = second.collect(keyed.connect(rules).process(LastWithRules()).uid("op"))
    second.restore_savepoint(saved).push({"k": "a", "n": 2}, 20, source="numbers")
    assert out == [1]


def kafka(*topics: str, pattern: str = "") -> Source:
    builder = KafkaSource.builder().set_bootstrap_servers("nowhere:1").set_value_only_deserializer(SimpleStringSchema())
    builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    return (builder.set_topic_pattern(pattern) if pattern else builder.set_topics(*topics)).build()


ORDERS = {"orders": {"0": 5, "1": 7}, "#behind": ["orders-0"]}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (kafka("orders"), []),
        (kafka("orders", "returns"), []),
        (kafka(pattern="ord.*"), []),
        (kafka("returns"), ["topic 'orders'"]),
        (kafka(pattern="ret.*"), ["topic 'orders'"]),
    ],
)
def test_topics_of_a_position_that_a_kafka_source_does_not_read(source: Source, expected: list[str]) -> None:
    assert source.foreign_parts(ORDERS) == expected


def folder_job(folder: Path) -> ps.StreamExecutionEnvironment:
    env = ps.StreamExecutionEnvironment()
    lines = env.from_source(FileSource(str(folder)), source_name="lines").uid("lines")
    lines.key_by(lambda line: line).reduce(lambda a, b: a).uid("op").print()
    return env


def test_another_folder_under_the_uid_of_a_source_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two", "one-more"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("a\nb\n")
    saved = Harness(folder_job(tmp_path / "one")).run(max_batches=1).savepoint(tmp_path / "saved")
    Harness(folder_job(tmp_path / "one")).restore_savepoint(saved)
    for other in ("two", "one-more"):
        second = Harness(folder_job(tmp_path / other))
        (part,) = [p for p in check_restore(open_savepoint(saved), second.job.program).parts if p.part == "source"]
        assert part.verdict == INCOMPATIBLE
        with pytest.raises(
            CheckpointError, match=f"folder {tmp_path / 'one'}, which the program does not read"
        ) as refused:
            second.restore_savepoint(saved)
        assert refused.value.code == "SAVEPOINT_SOURCE_CHANGED"


def sink_job(folder: Path, sink: str | None) -> Any:
    env = ps.StreamExecutionEnvironment()
    numbers = env.from_sequence(1, 3).uid("numbers")
    if sink == "print":
        numbers.print().uid("out")
    elif sink is not None:
        numbers.sink_to(FileSink.for_row_format(folder / "out", Encoder.simple_string_encoder()).build()).uid(sink)
    else:
        numbers.print().uid("other")
    return build_program(env.graph("sinks"))


def test_a_fork_that_redirects_a_sink_leaves_its_pending_output(tmp_path: Path) -> None:
    env = ps.StreamExecutionEnvironment()
    env.from_sequence(1, 3).uid("numbers").print().uid("out")
    savepoint = open_savepoint(Harness(env).run(max_batches=1).savepoint(tmp_path / "saved"))
    savepoint.manifest.sinks = [SavedSink("out", "out", "PrintSink", {"name": "old", "files": [{}]})]
    graph, _ = redirect_sinks(env.graph("fork"), str(tmp_path))
    assert check_restore(savepoint, build_program(graph)).compatible


@pytest.mark.parametrize(
    ("sink", "verdict"), [("out", AS_IS), ("print", INCOMPATIBLE), (None, DROPPED), ("renamed", DROPPED)]
)
def test_pending_output_of_a_sink_is_not_dropped_silently(tmp_path: Path, sink: str | None, verdict: str) -> None:
    env = ps.StreamExecutionEnvironment()
    env.from_sequence(1, 3).uid("numbers").print().uid("out")
    savepoint = open_savepoint(Harness(env).run(max_batches=1).savepoint(tmp_path / "saved"))
    pending = {"name": "old", "files": [{"bucket": "", "created": 0, "modified": 0}]}
    savepoint.manifest.sinks = [SavedSink("out", "out", "FileSink", pending)]
    program = sink_job(tmp_path, sink)
    checked = check_restore(savepoint, program)
    assert next(p.verdict for p in checked.parts if p.part == "sink" and p.uid == "out") == verdict
    assert {p.verdict for p in checked.parts if p.part == "sink" and p.uid != "out"} <= {NEW}
    if verdict == AS_IS:
        assert match_savepoint(savepoint, program).sinks == {"out": pending}
        return
    with pytest.raises(CheckpointError) as refused:
        match_savepoint(savepoint, program)
    codes = {INCOMPATIBLE: "SAVEPOINT_SINK_CHANGED", DROPPED: "SAVEPOINT_STATE_UNCLAIMED"}
    assert refused.value.code == codes[verdict]
    if verdict == DROPPED:
        assert match_savepoint(savepoint, program, allow_dropped=True).dropped[0].kind == "sink"
        savepoint.manifest.sinks[0].memory["files"] = []
        assert check_restore(savepoint, program).compatible
