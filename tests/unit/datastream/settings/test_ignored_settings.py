"""Settings that have no effect warn, and values that are no members of an enumeration are rejected."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock import AsyncDataStream, StreamExecutionEnvironment
from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern
from penstock.config.registry import NO_EFFECT, options
from penstock.connectors import (
    DeliveryGuarantee,
    Encoder,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    RollingPolicy,
)
from penstock.connectors.basic_sinks import DiscardingSink
from penstock.connectors.file.source.enumerator import FileEnumeratorProvider
from penstock.connectors.kafka import (
    FlinkKafkaProducer,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
    Semantic,
)
from penstock.connectors.redis import RedisCommandDescription, RedisMapper, RedisSink
from penstock.datastream.settings.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from penstock.datastream.settings.slot_sharing_group import SlotSharingGroup
from penstock.datastream.settings.state_backends import EmbeddedRocksDBStateBackend
from penstock.datastream.settings.unused_options import unused_options
from penstock.errors import OptionIgnored, PenstockError
from penstock.formats import (
    AvroRowSerializationSchema,
    CsvSchema,
    OrcBulkWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
    SimpleStringSchema,
)
from penstock.functions import AsyncRetryStrategy
from penstock.testing import Harness, PushSource
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


DISCOVERY = "partition.discovery.interval.ms"
ROW = ps.Types.ROW_NAMED(["a"], [ps.Types.STRING()])
AVRO = '{"type": "record", "name": "P", "fields": [{"name": "x", "type": "long"}]}'


def kafka_sink() -> KafkaSinkBuilder:
    serializer = KafkaRecordSerializationSchema.builder().set_topic("t")
    schema = serializer.set_value_serialization_schema(SimpleStringSchema()).build()
    return KafkaSink.builder().set_bootstrap_servers("h:1").set_record_serializer(schema)


def kafka_source(topic: str | None = "t") -> KafkaSourceBuilder:
    builder = KafkaSource.builder().set_bootstrap_servers("h:1").set_value_only_deserializer(SimpleStringSchema())
    return builder if topic is None else builder.set_topics(topic)


def redis() -> RedisSink.Builder:
    return RedisSink.builder().set_mapper(RedisMapper.hash(key=str, field=str, value=str))


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
    "resources of slot sharing group 'g'": lambda: environment().register_slot_sharing_group(
        SlotSharingGroup.builder("g").set_cpu_cores(1.0).set_task_heap_memory_mb(9).build()
    ),
    "register_cached_file": lambda: environment().register_cached_file(__file__, "tests"),
    "set_db_storage_paths": lambda: EmbeddedRocksDBStateBackend().set_db_storage_paths("/a", "/b"),
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
    "update_interval": lambda: ps.WatermarkStrategy.no_watermarks().with_watermark_alignment("g", SECOND, SECOND),
    "cleanup_in_rocksdb_compact_filter": lambda: StateTtlConfig.new_builder(5).cleanup_in_rocksdb_compact_filter(1000),
    "set_transactional_id_prefix.* AT_LEAST_ONCE": lambda: kafka_sink().set_transactional_id_prefix("p").build(),
    "set_whole_batches": lambda: kafka_sink().set_whole_batches().build(),
    "set_lost_marker_policy": lambda: kafka_sink().set_lost_marker_policy("skip").build(),
    "transaction.timeout.ms": lambda: kafka_sink().set_property("transaction.timeout.ms", 9).build(),
    "transactional.id": lambda: kafka_sink().set_property("transactional.id", "t").build(),
    "set_flush_on_checkpoint": lambda: FlinkKafkaProducer(
        "t", SimpleStringSchema(), {"bootstrap.servers": "h:1"}, semantic=Semantic.EXACTLY_ONCE
    ).set_flush_on_checkpoint(False),
    "commit.offsets.on.checkpoint": lambda: kafka_source().set_property("commit.offsets.on.checkpoint", "true").build(),
    "partition.discovery.interval.ms.*stopping offsets": lambda: (
        kafka_source().set_property(DISCOVERY, "10").set_bounded(KafkaOffsetsInitializer.latest()).build()
    ),
    "partition.discovery.interval.ms.*set_partitions": lambda: (
        kafka_source(topic=None).set_partitions({KafkaTopicPartition("t", 0)}).set_property(DISCOVERY, 10).build()
    ),
    "set_client_id_prefix": lambda: kafka_source().set_client_id_prefix("p").set_property("client.id", "c").build(),
    "enable.auto.commit": lambda: kafka_source().set_property("enable.auto.commit", True).build(),
    "session.timeout.ms": lambda: kafka_source().set_property("session.timeout.ms", 10).build(),
    "with_rolling_policy": lambda: (
        FileSink.for_row_format("out", Encoder.simple_string_encoder())
        .with_rolling_policy(RollingPolicy.default_rolling_policy(1, 2, 3))
        .enable_compact(FileCompactStrategy(1), FileCompactor.concat_file_compactor())
        .build()
    ),
    "look_every": lambda: FileSource("in", look_every=1.0),
    "set_strict_headers": lambda: CsvSchema.builder().add_string_column("a").set_strict_headers().build(),
    "hadoop_config": lambda: ParquetBulkWriters.for_row_type(ROW, hadoop_config={"a": "b"}),
    "writer_properties": lambda: OrcBulkWriters.for_row_type(ROW, {"orc.compress": "SNAPPY"}),
    "ParquetColumnarRowInputFormat": lambda: ParquetColumnarRowInputFormat(ROW, {"a": "b"}),
    "subject": lambda: AvroRowSerializationSchema(avro_schema_string=AVRO, subject="s"),
    "Unix socket": lambda: redis().set_url("unix:///r").set_host("h").build(),
    "ca_certificates": lambda: redis().set_ssl(False, "ca.pem").build(),
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
        exactly_once = kafka_sink().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_whole_batches()
        exactly_once.set_transactional_id_prefix("p").set_lost_marker_policy("skip").build()
        kafka_source().set_group_id("g").set_property("commit.offsets.on.checkpoint", True).set_property(
            DISCOVERY, 9
        ).build()
        kafka_source().set_property("enable.auto.commit", "false").set_bounded(KafkaOffsetsInitializer.latest()).build()
        FileSource("in", look_every=1.0, bounded=False)
        CsvSchema.builder().add_array_column("a", ",").add_array_column(
            "b", ","
        ).set_use_header().set_strict_headers().build()
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


def test_idleness_without_watermarks_has_an_effect_where_streams_are_combined() -> None:
    def fired(strategy: ps.WatermarkStrategy) -> list[int]:
        env = ps.StreamExecutionEnvironment()
        timed = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        events, silent = PushSource(), PushSource()
        first = env.from_source(events, timed, "events")
        windows = first.union(env.from_source(silent, strategy, "silent")).key_by(lambda n: 0)
        harness = Harness(env)
        out = harness.collect(windows.window(TumblingEventTimeWindows.of(10)).reduce(max))
        for time in (0, 100, 200):
            harness.set_time(time)
            harness.push(time + 5, source="events")
        return list(out)

    assert fired(ps.WatermarkStrategy.no_watermarks()) == []
    assert fired(ps.WatermarkStrategy.no_watermarks().with_idleness(50)) == [5, 105]


SIDE: ps.OutputTag[int] = ps.OutputTag("odd")


class Splits(ps.ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield (SIDE, value) if value % 2 else value


class KeyedSplits(ps.KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield (SIDE, value) if value % 2 else value


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("reads", [False, True])
def test_a_side_output_that_nobody_reads_is_reported_once(keyed: bool, reads: bool) -> None:
    env = environment()
    numbers = env.from_source(PushSource())
    split = numbers.key_by(lambda n: 0).process(KeyedSplits()) if keyed else numbers.process(Splits())
    harness = Harness(env)
    out = harness.collect(split.name("split"))
    side = harness.collect(split.get_side_output(SIDE)) if reads else []
    harness.push_all([1, 2, 3])
    harness.push_all([5])

    warned = [line.text for line in harness.logs]
    assert (out, side) == ([2], [1, 3, 5] if reads else [])
    assert len(warned) == (0 if reads else 1)
    assert reads or "Operator 'split' emits elements to the side output 'odd', which no stream reads" in warned[0]


@pytest.mark.parametrize("key", ["execution.checkpointing.min-pause", "execution.checkpointing.max-share"])
def test_pauses_do_not_apply_to_streaming_dataframes(key: str) -> None:
    env = StreamExecutionEnvironment(ps.Configuration({key: "0.5" if key.endswith("share") else "1 s"}))
    graph = env.from_collection([1]).print()._env.graph()  # the sources of a graph are replaced below
    native = replace(graph.sources[0], source=NativeSource())
    graph = replace(graph, nodes=(native, *graph.nodes[1:]))

    assert [m for m in unused_options(env.configuration, graph) if "streaming DataFrame" in m]


class NativeSource(PushSource):
    native = True


def test_names_of_earlier_versions_are_deprecated() -> None:
    letter = ps.DeadLetter(operator="o", uid="o", element=1, error="E", message="m", location="job.py:3")
    with pytest.warns(DeprecationWarning, match=r"DeadLetter.location"):
        assert letter.place == "job.py:3"
    with pytest.warns(DeprecationWarning, match=r"set_lost_marker_policy") as caught:
        kafka_sink().set_lost_marks("write")
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"is now 'execution.checkpointing.store.timeout'") as caught:
        former = ps.Configuration({"execution.checkpointing.store.patience": "5 s"})
    assert caught[0].filename == __file__
    assert former == ps.Configuration({"execution.checkpointing.store.timeout": "5 s"})


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
    "set_starting_offsets": lambda: (
        kafka_source()
        .set_starting_offsets(KafkaOffsetsInitializer.offsets({KafkaTopicPartition("other", 0): 5}))
        .build()
    ),
    "set_row_kind": lambda: ps.Row(a=1).set_row_kind("+I"),  # type: ignore[arg-type]
    "of_kind": lambda: ps.Row.of_kind("+I", 1),  # type: ignore[arg-type]
    "with_timestamp_assigner": lambda: ps.WatermarkStrategy.for_ingestion_time().with_timestamp_assigner(max),
}


@pytest.mark.parametrize("method", MISTAKES)
def test_values_that_are_no_members_of_an_enumeration_are_rejected(method: str) -> None:
    with pytest.raises(PenstockError, match=rf"{method}(\(\))? (got|was called)"):
        MISTAKES[method]()


@pytest.mark.parametrize("mode", ["exactly", "once"])
def test_modes_as_text_are_checked(mode: Any) -> None:
    with pytest.raises(PenstockError, match=r"OPTION_VALUE"):
        environment().enable_checkpointing(10, mode)
    with pytest.raises(PenstockError, match=r"OPTION_VALUE"):
        environment().set_runtime_mode(mode)


def test_values_that_would_be_ignored_are_rejected() -> None:
    with pytest.raises(PenstockError, match=r"expected true or false"):
        kafka_source().set_property("commit.offsets.on.checkpoint", "yes").build()
    with pytest.raises(PenstockError, match=r"which has its own pattern"):
        FileSource("in", pattern="*.csv", enumerator=FileEnumeratorProvider(pattern="*.txt"))
    assert (
        CsvSchema.builder().set_array_element_separator(",").add_array_column("a").build().form.array_delimiter == ","
    )
