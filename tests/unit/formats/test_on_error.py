"""on_error for invalid records: the job fails, they become dead letters, or they are dropped and counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.connectors import JsonLines, json_lines
from penstock.errors import ConfigError, PlanError, UnreadDeadLetters, UserFunctionError
from penstock.formats import Decoding, DeserializationSchema
from penstock.formats.strings import SimpleStringSchema
from penstock.testing import Harness
from tests.unit.formats.messages import Messages

MESSAGES = [b"a", b"\xff", b"b", b"c", b"\xfe", b"\xfd", b"\xfc", b"\xfb", b"d"]
STAMPS = ps.WatermarkStrategy.for_monotonous_timestamps()


def run(
    on_error: Any,
    build: Callable[[Any], Any] = lambda s: s,
    schema: Any = None,
    messages: Any = MESSAGES,
    **options: Any,
) -> tuple[list[Any], Harness]:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(
        Messages(messages, schema or SimpleStringSchema()), source_name="clicks", on_error=on_error, **options
    )
    harness = Harness(env)
    out = harness.collect(build(stream))
    harness.run()
    return list(out), harness


def test_fail_error_has_position_and_bytes() -> None:
    with pytest.raises(UserFunctionError) as raised:
        run("fail")
    text = str(raised.value)
    assert text.startswith(
        "[BAD_RECORD] The record of topic clicks, partition 0, offset 1 cannot be decoded: 'utf-8' codec"
    )
    assert "It starts with b'\\xff'" in text
    assert 'on_error="dead_letter"' in text
    assert 'on_error="skip"' in text
    assert "In source 'clicks'" in text


def test_skip_drops_and_counts() -> None:
    result, harness = run("skip")
    assert result == ["a", "b", "c", "d"]
    assert harness.skipped_records() == {"clicks-1": 5}
    assert harness.dead_letters() == {}


def test_dead_letters_have_position_error_and_bytes() -> None:
    result, harness = run("dead_letter", lambda s: s.get_side_output(ps.DEAD_LETTERS))
    assert [(d.topic, d.partition, d.offset, d.raw, d.timestamp, d.position) for d in result] == [
        ("clicks", 0, at, MESSAGES[at], 1000 * at, at) for at in (1, 4, 5, 6, 7)
    ]
    first = result[0]
    assert (first.operator, first.uid, first.source, first.split) == ("clicks", "clicks-1", "clicks", "p0")
    assert first.error == "UnicodeDecodeError"
    assert "can't decode byte 0xff" in first.message
    assert first.facts["key"] == b"k"
    assert harness.dead_letters() == {"clicks-1": 5}


def test_good_records_keep_their_positions_and_times() -> None:
    class Timestamps(ps.ProcessFunction):
        def process_element(self, value: str, ctx: Any) -> Any:
            yield value, ctx.timestamp()

    result, _ = run("skip", lambda s: s.process(Timestamps()))
    assert result == [("a", 0), ("b", 2000), ("c", 3000), ("d", 8000)]


def test_dead_letters_of_a_source_with_a_watermark_strategy() -> None:
    """Also includes the dead letters of the timestamp assigner."""

    class Assigner(ps.TimestampAssigner):
        def extract_timestamp(self, value: str, record_timestamp: int) -> int:
            return {"a": 1, "b": 2, "c": 3}[value]

    strategy = STAMPS.with_timestamp_assigner(Assigner())
    result, _ = run("dead_letter", lambda s: s.get_side_output(ps.DEAD_LETTERS), watermark_strategy=strategy)
    assert sorted(map(repr, (d.element for d in result))) == sorted(
        map(repr, [*(m for m in MESSAGES if m >= b"\x80"), "d"])
    )


def test_dead_letters_through_keyed_operators() -> None:
    class Counts(ps.KeyedProcessFunction):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

        def process_element(self, value: ps.DeadLetter, ctx: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            yield value.topic, self.count.value(), ctx.timestamp()

    result, _ = run(
        "dead_letter", lambda s: s.get_side_output(ps.DEAD_LETTERS).key_by(lambda d: d.topic).process(Counts())
    )
    assert result == [("clicks", n, t) for n, t in enumerate((1000, 4000, 5000, 6000, 7000), 1)]


def test_unread_dead_letters_cause_a_warning() -> None:
    with pytest.warns(UnreadDeadLetters, match="clicks-1"):
        result, harness = run("dead_letter")
    assert result == ["a", "b", "c", "d"]
    assert harness.dead_letters() == {"clicks-1": 5}


def test_dead_letters_of_a_source_without_them() -> None:
    with pytest.raises(PlanError, match="NO_DEAD_LETTERS"):
        run("skip", lambda s: s.get_side_output(ps.DEAD_LETTERS))


def test_an_unknown_policy() -> None:
    with pytest.raises(PlanError, match=r'ON_ERROR.*"dead_letter".*"skip"'):
        run("ignore")


class Numbers(DeserializationSchema[int]):
    """Decodes one message at a time; an empty one has no element."""

    output_type = int

    def deserialize(self, message: bytes) -> int | None:
        return int(message) if message else None


def test_custom_schema() -> None:
    result, harness = run("skip", schema=Numbers(), messages=[b"1", b"", b"x", b"4", None, b"6"])
    assert result == [1, 4, 6]
    assert harness.skipped_records() == {"clicks-1": 3}


def test_a_schema_that_ignores_errors_decides_before_the_source() -> None:
    schema = Numbers()
    schema.ignores_errors = True
    result, harness = run("fail", schema=schema, messages=[b"1", b"x", b"4"])
    assert result == [1, 4]
    assert harness.skipped_records() == {"clicks-1": 1}


class Lost(DeserializationSchema[Any]):
    def decode(self, messages: Any) -> list[Any]:
        return list(messages[1:])


def test_schema_that_drops_messages() -> None:
    with pytest.raises(ConfigError, match=r"DECODER_COUNT.*Lost.decode returned 3 elements for 4 messages"):
        run("skip", schema=Lost())


class CountsCalls(SimpleStringSchema):
    calls = 0

    def decode(self, messages: Any) -> list[str | None]:
        CountsCalls.calls += 1
        return super().decode(messages)


def test_few_bad_messages_need_few_calls() -> None:
    messages = [b"good"] * 10_000
    messages[1234] = messages[7777] = b"\xff"
    decoded = Decoding(CountsCalls()).decode(messages, lambda i: (i, {}))
    assert [bad.position for bad in decoded.bad] == [1234, 7777]
    assert len(decoded.values) == 9998
    assert CountsCalls.calls < 80


def test_lines_of_files(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_bytes(b'{"n": 1}\n{"n": \n\n{"n": 2}\n{"n": "\xff"}')
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(json_lines(path), on_error="dead_letter")
    harness = Harness(env)
    good, dead = harness.collect(stream), harness.collect(stream.get_side_output(ps.DEAD_LETTERS))
    harness.run()
    assert list(good) == [{"n": 1}, {"n": 2}]
    assert [(d.raw, d.position, d.facts) for d in dead] == [
        (b'{"n": ', 9, {"file": str(path), "byte": 9}),
        (b'{"n": "\xff"}', 26, {"file": str(path), "byte": 26}),
    ]
    assert JsonLines()(b'{"n": 1}\n') == [{"n": 1}]
