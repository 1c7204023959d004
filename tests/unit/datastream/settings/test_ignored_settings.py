"""Settings that have no effect warn, and values that are no members of an enumeration are rejected."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock import AsyncDataStream, StreamExecutionEnvironment
from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern
from penstock.config.registry import NO_EFFECT, options
from penstock.connectors.basic_sinks import DiscardingSink
from penstock.connectors.kafka import FlinkKafkaProducer, KafkaOffsetsInitializer
from penstock.connectors.redis import RedisCommandDescription
from penstock.datastream.settings.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from penstock.datastream.settings.state_backends import EmbeddedRocksDBStateBackend
from penstock.errors import OptionIgnored, PenstockError
from penstock.formats import SimpleStringSchema
from penstock.functions import AsyncRetryStrategy
from penstock.testing import Harness
from penstock.ttl import StateTtlConfig, TtlCleanup
from penstock.windows import TumblingEventTimeWindows, TumblingProcessingTimeWindows

SECOND = ps.Duration.of_seconds(1)
LATE: ps.OutputTag[Any] = ps.OutputTag("late")


def environment(**set_options: Any) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment(ps.Configuration({k.replace("__", "."): v for k, v in set_options.items()}))


def numbers() -> ps.DataStream[int]:
    return environment().from_collection([1, 2])


def timed_windows() -> Any:
    return numbers().key_by(lambda n: n).window(TumblingProcessingTimeWindows.of(SECOND))


async def lookup(value: int) -> list[int]:
    return [value]


class Lookup(ps.AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        return [value]


def yields_and_returns(value: int) -> Iterator[int]:
    if value > 1:
        yield value
    return [value]  # type: ignore[return-value]


class YieldsAndReturns(ps.ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value
        return 1


def only_yields(value: int) -> Iterator[int]:
    if value > 1:
        yield value
        return
    yield 0


IGNORED: dict[str, Callable[[], Any]] = {
    "disable_chaining": lambda: numbers().map(str).disable_chaining(),
    "start_new_chain": lambda: numbers().map(str).start_new_chain(),
    "slot_sharing_group": lambda: numbers().map(str).slot_sharing_group("g"),
    "set_parallelism.* on ": lambda: numbers().sink_to(DiscardingSink()).set_parallelism(1),
    "set_parallelism.* on 'collection'": lambda: numbers().set_parallelism(1),
    "pipeline.auto-watermark-interval": lambda: environment().get_config().set_auto_watermark_interval(100),
    "pipeline.operator-chaining": lambda: environment().disable_operator_chaining(),
    "execution.checkpointing.mode": lambda: environment().enable_checkpointing(10, ps.CheckpointingMode.AT_LEAST_ONCE),
    "max_state_size": lambda: JobManagerCheckpointStorage(max_state_size=1),
    "write_buffer_size": lambda: FileSystemCheckpointStorage("/c", write_buffer_size=1),
    "run_cleanup_for_every_record": lambda: StateTtlConfig.new_builder(5).cleanup_incrementally(5, True),
    "throw_exception_on_miss": lambda: AfterMatchSkipStrategy.no_skip().throw_exception_on_miss(),
    "allowed_lateness has no effect": lambda: timed_windows().allowed_lateness(5).reduce(max),
    "side_output_late_data has no effect": lambda: timed_windows().side_output_late_data(LATE).reduce(max),
    "A pattern in processing time.*side_output_late_data": lambda: (
        CEP.pattern(numbers(), Pattern.begin("a")).in_processing_time().side_output_late_data(LATE).select(len)
    ),
    "without a predicate": lambda: AsyncDataStream.ordered_wait_with_retry(
        numbers(), Lookup(), SECOND, AsyncRetryStrategy.fixed_delay(3, 10, None, None)
    ),
    r"yields_and_returns\(\) in .*generator function": lambda: numbers().flat_map(yields_and_returns),
    r"process_element\(\) in .*generator function": lambda: numbers().process(YieldsAndReturns()),
    "kafka_producers_pool_size": lambda: FlinkKafkaProducer(
        "t", SimpleStringSchema(), {"bootstrap.servers": "h:1"}, kafka_producers_pool_size=2
    ),
}


@pytest.mark.parametrize("message", IGNORED)
def test_settings_without_effect_warn_at_the_line_of_the_program(message: str) -> None:
    with pytest.warns(OptionIgnored, match=message) as caught:
        IGNORED[message]()

    assert [w.filename for w in caught] == [__file__]


def test_settings_with_effect_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numbers().flat_map(only_yields).print().set_parallelism(1)
        numbers().key_by(lambda n: n).window(TumblingEventTimeWindows.of(SECOND)).allowed_lateness(5).reduce(max)
        AfterMatchSkipStrategy.skip_to_last("a").throw_exception_on_miss()
        environment().set_state_backend(EmbeddedRocksDBStateBackend(True)).enable_changelog_state_backend(True)
        environment().enable_checkpointing(10, ps.CheckpointingMode.EXACTLY_ONCE)


@pytest.mark.parametrize("key", [option.key for option in options() if option.doc.startswith(NO_EFFECT)])
def test_the_default_of_an_option_without_effect_does_not_warn(key: str) -> None:
    option = next(o for o in options() if o.key == key)
    if option.default is not None:
        ps.Configuration({key: option.default})


UNUSED: dict[str, tuple[dict[str, str], bool]] = {
    "execution.heartbeat": ({"execution.heartbeat": "1 s"}, True),
    "execution.trigger.interval": ({"execution.trigger.interval": "1 s"}, True),
    "restart-strategy.fixed-delay.attempts": ({"restart-strategy.fixed-delay.attempts": "9"}, False),
    "restart-strategy.failure-rate.delay": (
        {"restart-strategy.failure-rate.delay": "9 s", "restart-strategy.type": "fixed-delay"},
        False,
    ),
    "execution.rescale.target-lag": ({"execution.rescale.target-lag": "9"}, False),
}


@pytest.mark.parametrize("key", UNUSED)
def test_options_that_do_not_apply_to_a_job(key: str) -> None:
    set_options, batch = UNUSED[key]
    mode = {"execution.runtime-mode": "BATCH"} if batch else {}
    env = StreamExecutionEnvironment(ps.Configuration({**set_options, **mode, "parallelism.default": 1}))
    env.from_collection([1]).print()

    with pytest.warns(OptionIgnored, match=rf"'{key}' has no effect"):
        env.graph()


def test_options_that_apply_to_a_job() -> None:
    set_options = {
        "execution.heartbeat": "1 s",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "9",
        "execution.rescale.policy": "dry-run",
        "execution.rescale.target-lag": "9",
        "source.batch.records": "10",
        "parallelism.default": "1",
    }
    env = StreamExecutionEnvironment(ps.Configuration(set_options))
    env.from_collection([1]).print()

    assert env.graph().parallelism == 1


def test_a_limit_of_records_for_a_source_that_does_not_count_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    env = StreamExecutionEnvironment(ps.Configuration({"source.batch.records": 10, "parallelism.default": 1}))
    env.read_text_file(str(tmp_path)).print()

    with pytest.warns(OptionIgnored, match=r"source.batch.records' has no effect.*bytes_per_batch"):
        env.graph()


def test_the_harness_limits_the_records_of_a_batch() -> None:
    env = environment(source__batch__records=2)
    harness = Harness(env)
    out = harness.collect(env.from_collection(list(range(5))))

    harness.run(max_batches=1)

    assert out == [0, 1]


BUILDER = StateTtlConfig.new_builder(5)
MISTAKES: dict[str, Callable[[], Any]] = {
    "set_ttl_time_characteristic": lambda: BUILDER.set_ttl_time_characteristic("event"),  # type: ignore[arg-type]
    "set_update_type": lambda: BUILDER.set_update_type("OnReadAndWrite"),  # type: ignore[arg-type]
    "set_state_visibility": lambda: BUILDER.set_state_visibility(True),  # type: ignore[arg-type]
    "StateTtlConfig": lambda: StateTtlConfig("a", "b", "c", 5, TtlCleanup({}, True)),  # type: ignore[arg-type]
    "cleanup_incrementally": lambda: BUILDER.cleanup_incrementally(-1),
    "within": lambda: Pattern.begin("a").within(SECOND, "previous"),  # type: ignore[arg-type]
    "KafkaOffsetsInitializer": lambda: KafkaOffsetsInitializer.committed_offsets("earliest"),  # type: ignore[arg-type]
    "FlinkKafkaProducer": lambda: FlinkKafkaProducer(
        *("t", SimpleStringSchema(), {"bootstrap.servers": "h:1"}),
        semantic="exactly-once",  # type: ignore[arg-type]
    ),
    "RedisCommandDescription": lambda: RedisCommandDescription("HSET", "h"),  # type: ignore[arg-type]
    "set_predefined_options": lambda: EmbeddedRocksDBStateBackend().set_predefined_options("DEFAULT"),  # type: ignore[arg-type]
    "set_state_backend": lambda: environment().set_state_backend("hashmap"),  # type: ignore[arg-type]
    "set_restart_strategy": lambda: environment().set_restart_strategy("fixed-delay"),  # type: ignore[arg-type]
    "set_row_kind": lambda: ps.Row(a=1).set_row_kind("+I"),  # type: ignore[arg-type]
    "of_kind": lambda: ps.Row.of_kind("+I", 1),  # type: ignore[arg-type]
    "with_timestamp_assigner": lambda: ps.WatermarkStrategy.for_ingestion_time().with_timestamp_assigner(max),
}


@pytest.mark.parametrize("method", MISTAKES)
def test_values_that_are_no_members_of_an_enumeration_are_rejected(method: str) -> None:
    with pytest.raises(PenstockError, match=rf"{method}\(\) (got|was called)"):
        MISTAKES[method]()


@pytest.mark.parametrize("mode", ["exactly", "once"])
def test_modes_as_text_are_checked(mode: Any) -> None:
    with pytest.raises(PenstockError, match=r"OPTION_VALUE"):
        environment().enable_checkpointing(10, mode)
    with pytest.raises(PenstockError, match=r"OPTION_VALUE"):
        environment().set_runtime_mode(mode)
