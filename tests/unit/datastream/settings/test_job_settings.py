"""Settings of an environment: methods and options are equivalent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.config.restart_options import RESTARTS
from penstock.config.state_options import BACKEND, LOCAL_DIR
from penstock.datastream import (
    CustomCheckpointStorage,
    CustomStateBackend,
    ExecutionConfig,
    JobManagerCheckpointStorage,
    MemorySize,
    PredefinedOptions,
    SlotSharingGroup,
)
from penstock.datastream.settings.job_settings import JobSettings
from penstock.errors import ConfigError, OptionIgnored, PlanError, UnsupportedOperation
from tests.unit.datastream.recording_engine import environment


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")
def test_every_pair_of_setter_and_getter_of_the_execution_config() -> None:
    env = environment()
    made = env.get_config()
    for name, value in [
        ("parallelism", 5),
        ("max_parallelism", 77),
        ("auto_watermark_interval", 50),
        ("latency_tracking_interval", 9),
        ("task_cancellation_interval", 11),
        ("task_cancellation_timeout", 12),
        ("global_job_parameters", {"a": "1"}),
    ]:
        assert getattr(made, f"set_{name}")(value) is made
        assert getattr(made, f"get_{name}")() == value
    for name, asked in [
        ("closure_cleaner", "is_closure_cleaner_enabled"),
        ("force_kryo", "is_force_kryo_enabled"),
        ("force_avro", "is_force_avro_enabled"),
        ("object_reuse", "is_object_reuse_enabled"),
        ("auto_generated_uids", "has_auto_generated_uids_enabled"),
    ]:
        for verb, value in (("enable", True), ("disable", False)):
            getattr(made, f"{verb}_{name}")()
            assert getattr(made, asked)() is value
    assert made.disable_generic_types().has_generic_types_disabled()
    assert not made.enable_generic_types().has_generic_types_disabled()
    assert made.set_use_snapshot_compression(True).is_use_snapshot_compression()
    assert (made.get_registered_kryo_types(), made.get_registered_pojo_types()) == ([], [])
    assert made.get_default_kryo_serializer_classes() == {}
    assert env.get_config() == made, "a view of the same configuration"
    assert env.get_parallelism() == 5
    assert env.configuration.get_string("pipeline.global-job-parameters") == "{a: 1}"


def test_parallelism_is_chosen_set_and_taken_back() -> None:
    env = environment()
    assert env.get_config().get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT
    assert env.get_parallelism() == 3, "the engine's"
    env.set_parallelism(2)
    env.get_config().set_parallelism(ExecutionConfig.PARALLELISM_UNKNOWN)
    assert env.get_parallelism() == 2
    env.get_config().set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT)
    assert env.get_parallelism() == 3
    with pytest.raises(ConfigError, match="PARALLELISM"):
        env.set_parallelism(0)
    with pytest.raises(ConfigError, match="MAX_PARALLELISM"):
        env.set_max_parallelism(1 << 16)
    assert environment(**{"parallelism.default": "7"}).get_parallelism() == 7


@pytest.fixture
def local_parallelism() -> Iterator[None]:
    yield
    JobSettings._local_parallelism = None


@pytest.mark.usefixtures("local_parallelism")
def test_the_local_parallelism_is_of_all_environments() -> None:
    assert environment().get_default_local_parallelism() == os.cpu_count()
    environment().set_default_local_parallelism(6)
    assert environment().get_parallelism() == 6
    assert environment().set_parallelism(2).get_parallelism() == 2


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")
def test_every_pair_of_setter_and_getter_of_the_checkpoint_config() -> None:
    env = environment()
    made = env.get_checkpoint_config()
    assert (made.is_checkpointing_enabled(), env.get_checkpoint_interval()) == (False, -1)
    assert (
        made.get_externalized_checkpoint_retention() is ps.ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
    )
    assert made.is_externalized_checkpoints_enabled() is False
    for name, value in [
        ("checkpoint_interval", 5000),
        ("checkpointing_mode", ps.CheckpointingMode.AT_LEAST_ONCE),
        ("checkpoint_timeout", 9),
        ("min_pause_between_checkpoints", 8),
        ("max_concurrent_checkpoints", 3),
        ("tolerable_checkpoint_failure_number", 4),
        ("externalized_checkpoint_retention", ps.ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION),
        ("aligned_checkpoint_timeout", ps.Duration.of_seconds(2)),
        ("alignment_timeout", ps.Duration.of_seconds(3)),
    ]:
        assert getattr(made, f"set_{name}")(value) is made
        assert getattr(made, f"get_{name}")() == value
    assert made.is_checkpointing_enabled()
    assert made.is_externalized_checkpoints_enabled()
    assert made.is_fail_on_checkpointing_errors() is False
    assert made.set_fail_on_checkpointing_errors(True).get_tolerable_checkpoint_failure_number() == 0
    assert made.set_fail_on_checkpointing_errors(False).get_tolerable_checkpoint_failure_number() == 2**31 - 1
    assert made.enable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert env.is_unaligned_checkpoints_enabled()
    assert not made.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert made.set_force_unaligned_checkpoints().is_force_unaligned_checkpoints()
    assert env.is_force_unaligned_checkpoints()
    with pytest.raises(ConfigError, match="OPTION_VALUE"):
        made.set_max_concurrent_checkpoints(0)


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")
def test_enable_checkpointing_sets_interval_mode_and_folder() -> None:
    env = environment().enable_checkpointing(3000, ps.CheckpointingMode.AT_LEAST_ONCE, folder="/data")
    assert env.get_checkpoint_interval() == 3000
    assert (
        env.get_checkpointing_mode() is env.get_checkpointing_consistency_mode() is ps.CheckpointingMode.AT_LEAST_ONCE
    )
    assert env.configuration.get_string("execution.checkpointing.dir") == "/data"


def test_a_buffer_timeout_is_not_negative() -> None:
    with pytest.raises(ConfigError, match="BUFFER_TIMEOUT"):
        environment().set_buffer_timeout(-2)


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")
def test_settings_without_an_effect_are_stored() -> None:
    env = environment()
    assert env.is_chaining_enabled()
    assert not env.disable_operator_chaining().is_chaining_enabled()
    assert env.is_chaining_of_operators_with_different_max_parallelism_enabled()
    assert env.is_changelog_state_backend_enabled() is None
    assert env.enable_changelog_state_backend(False).is_changelog_state_backend_enabled() is False
    assert env.get_default_savepoint_directory() is None
    assert env.set_default_savepoint_directory("file:///save").get_default_savepoint_directory() == "/save"


def test_configure_copies_options_that_are_set() -> None:
    env = environment(**{"pipeline.name": "a", "parallelism.default": 2})
    env.configure(ps.Configuration({"pipeline.name": "b"}))
    assert env.configuration.get_string("pipeline.name") == "b"
    assert env.get_parallelism() == 2


# -- restart strategies


@pytest.mark.parametrize(
    ("strategy", "keys"),
    [
        (ps.RestartStrategies.no_restart(), {"restart-strategy.type": "none"}),
        (
            ps.RestartStrategies.fixed_delay_restart(3, timedelta(seconds=10)),
            {
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": "3",
                "restart-strategy.fixed-delay.delay": "10 s",
            },
        ),
        (
            ps.RestartStrategies.failure_rate_restart(2, 60_000, 5000),
            {
                "restart-strategy.type": "failure-rate",
                "restart-strategy.failure-rate.max-failures-per-interval": "2",
                "restart-strategy.failure-rate.failure-rate-interval": "1 min",
                "restart-strategy.failure-rate.delay": "5 s",
            },
        ),
        (
            ps.RestartStrategies.exponential_delay_restart(1000, 9000, 2.0, 60_000, 0.5),
            {
                "restart-strategy.type": "exponential-delay",
                "restart-strategy.exponential-delay.initial-backoff": "1 s",
                "restart-strategy.exponential-delay.max-backoff": "9 s",
                "restart-strategy.exponential-delay.backoff-multiplier": "2.0",
                "restart-strategy.exponential-delay.reset-backoff-threshold": "1 min",
                "restart-strategy.exponential-delay.jitter-factor": "0.5",
                "restart-strategy.exponential-delay.attempts-before-reset-backoff": str(2**31 - 1),
            },
        ),
    ],
)
def test_a_strategy_is_equivalent_to_its_options(strategy: Any, keys: dict[str, str]) -> None:
    by_method, by_keys = environment(), environment(**keys)
    assert by_method.get_restart_strategy() is None
    by_method.set_restart_strategy(strategy)
    assert by_method.configuration == by_keys.configuration
    assert by_keys.get_restart_strategy() == strategy
    assert hash(by_keys.get_restart_strategy()) == hash(strategy)
    assert strategy.get_description()


def test_strategies_return_their_settings() -> None:
    fixed = ps.RestartStrategies.fixed_delay_restart(3, 500)
    assert (fixed.get_restart_attempts(), fixed.get_delay_between_attempts_interval()) == (3, timedelta(seconds=0.5))
    rate = ps.RestartStrategies.failure_rate_restart(2, 60_000, 5000)
    assert rate.get_max_failure_rate() == 2
    assert (rate.get_failure_interval(), rate.get_delay_between_attempts_interval()) == (
        timedelta(minutes=1),
        timedelta(seconds=5),
    )
    assert fixed != ps.RestartStrategies.fixed_delay_restart(2, 500)
    env = environment().set_restart_strategy(fixed).set_restart_strategy(ps.RestartStrategies.fall_back_restart())
    assert not env.configuration.is_set(RESTARTS)


# -- state backends and checkpoint storage


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")
def test_state_backends_are_keys() -> None:
    env = environment()
    assert env.get_state_backend() is None
    assert isinstance(env.set_state_backend(ps.HashMapStateBackend()).get_state_backend(), ps.HashMapStateBackend)
    assert env.configuration.get(BACKEND) == "hashmap"
    rocks = ps.EmbeddedRocksDBStateBackend(True)
    rocks.set_db_storage_paths("file:///fast")
    rocks.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    rocks.set_number_of_transfer_threads(7)
    found = env.set_state_backend(rocks).get_state_backend()
    assert isinstance(found, ps.EmbeddedRocksDBStateBackend)
    assert found.get_db_storage_paths() == ["/fast"]
    assert found.is_incremental_checkpoints_enabled()
    assert found.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert (found.get_number_of_transfer_threads(), found.get_options()) == (7, None)
    assert (env.configuration.get(BACKEND), env.configuration.get(LOCAL_DIR)) == ("rocksdb", "/fast")
    assert isinstance(environment(**{"state.backend": "rocksdb"}).get_state_backend(), ps.EmbeddedRocksDBStateBackend)


def test_java_backends_are_not_supported() -> None:
    with pytest.raises(UnsupportedOperation, match="CUSTOM_BACKEND"):
        CustomStateBackend(object())
    with pytest.raises(UnsupportedOperation, match="CUSTOM_STORAGE"):
        CustomCheckpointStorage(object())
    with pytest.raises(UnsupportedOperation, match="ROCKSDB_FACTORY"):
        ps.EmbeddedRocksDBStateBackend().set_options("org.example.Factory")
    with pytest.raises(TypeError, match="enable_incremental_checkpointing"):
        ps.EmbeddedRocksDBStateBackend("yes")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"OPTION_VALUE.*forst"):
        environment(**{"state.backend.type": "forst"})


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")
def test_checkpoint_storage_is_a_folder() -> None:
    env = environment()
    made = env.get_checkpoint_config()
    assert made.get_checkpoint_storage() is None
    made.set_checkpoint_storage_dir("file:///data/checkpoints")
    found = made.get_checkpoint_storage()
    assert isinstance(found, ps.FileSystemCheckpointStorage)
    assert (found.get_checkpoint_path(), found.get_savepoint_path()) == ("/data/checkpoints", None)
    assert env.configuration.get_string("execution.checkpointing.dir") == "/data/checkpoints"
    small = ps.FileSystemCheckpointStorage("/data", file_state_size_threshold=0, write_buffer_size=10)
    assert (small.get_min_file_size_threshold(), small.get_write_buffer_size()) == (0, 10)
    made.set_checkpoint_storage(JobManagerCheckpointStorage())
    memory = made.get_checkpoint_storage()
    assert isinstance(memory, JobManagerCheckpointStorage)
    assert (memory.get_checkpoint_path(), memory.get_max_state_size()) == (None, 5 << 20)
    with pytest.raises(ConfigError, match=r"OPTION_VALUE.*hdfs"):
        ps.FileSystemCheckpointStorage("hdfs://node/checkpoints")


# -- what is shipped


def test_files_of_methods_and_options_are_the_same(tmp_path: Path) -> None:
    module, requirements, cache, archive = (tmp_path / n for n in ("module.py", "requirements.txt", "cache", "a.zip"))
    for file in (module, requirements, archive):
        file.write_text("")
    cache.mkdir()
    env = environment()
    env.add_python_file(str(module))
    env.set_python_requirements(str(requirements), str(cache))
    env.add_python_archive(str(archive))
    env.add_python_archive(str(archive), "data")
    env.add_jars("/jars/a.jar", "/jars/b.jar")
    env.add_classpaths("file:///jars/c.jar")
    env.set_python_executable("python3")
    assert env.files == {
        "files": [str(module)],
        "requirements": [str(requirements), str(cache)],
        "archives": [f"{archive}#a.zip", f"{archive}#data"],
        "jars": ["/jars/a.jar", "/jars/b.jar", "file:///jars/c.jar"],
    }
    assert environment(**env.configuration.to_dict()).files == env.files
    assert env.configuration.get_string("python.executable") == "python3"


def test_files_that_cannot_be_shipped_raise_an_error() -> None:
    env = environment()
    with pytest.raises(PlanError, match="FILE_NOT_FOUND"):
        env.add_python_file("nowhere.py")
    with pytest.raises(PlanError, match="FILE_NOT_FOUND"):
        _ = environment(**{"python.files": "nowhere.py"}).files
    with pytest.raises(PlanError, match="CLASSPATH"):
        env.add_classpaths("/jars/c.jar")
    with pytest.warns(OptionIgnored, match="'list' is not shipped"), pytest.raises(PlanError, match="FILE_NOT_FOUND"):
        env.register_cached_file("/data/no-list", "list")


def test_settings_without_effect_are_accepted_with_a_warning(tmp_path: Path) -> None:
    env = environment()
    file = tmp_path / "list.txt"
    file.write_text("a")
    with pytest.warns(OptionIgnored, match="'list' is not shipped"):
        env.register_cached_file(str(file), "list")
    assert env.cached_files == {"list": str(file)}
    backend = ps.EmbeddedRocksDBStateBackend()
    with pytest.warns(OptionIgnored, match="only file:///a/ is used"):
        backend.set_db_storage_paths("file:///a/", "/b")
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert ps.FileSystemCheckpointStorage("file://var/checkpoints/").get_checkpoint_path() == "file://var/checkpoints"


def test_slot_sharing_groups() -> None:
    env = environment()
    assert env.register_slot_sharing_group(SlotSharingGroup.builder("plain").build()) is env
    heavy = SlotSharingGroup.builder("heavy").set_cpu_cores(2.0).set_task_heap_memory_mb(100)
    heavy.set_task_off_heap_memory_mb(10).set_managed_memory_mb(20).set_external_resource("gpu", 1.0)
    group = heavy.build()
    assert (group.get_name(), group.get_cpu_cores(), group.get_external_resources()) == ("heavy", 2.0, {"gpu": 1.0})
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(100)
    assert group.get_task_off_heap_memory() < group.get_managed_memory()  # type: ignore[operator]
    assert str(group.get_managed_memory()) == "20 mb"
    with pytest.warns(OptionIgnored, match=r"resources of slot sharing group 'heavy'"):
        env.register_slot_sharing_group(group)
    assert list(env.slot_sharing_groups) == ["plain", "heavy"]
    with pytest.raises(ConfigError, match=r"SLOT_SHARING_GROUP.*without task_heap_memory"):
        SlotSharingGroup.builder("g").set_cpu_cores(1.0).set_task_off_heap_memory_mb(10).build()
    with pytest.raises(ConfigError, match=r"SLOT_SHARING_GROUP.*must be positive"):
        SlotSharingGroup.builder("g").set_task_heap_memory(MemorySize(0))
