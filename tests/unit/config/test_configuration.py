"""Options: the keys of Flink, the notation of values, and rejected keys."""

from __future__ import annotations

import copy
import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import config
from penstock.config import Configuration, execution_options
from penstock.config.value_kinds import COMMA_LIST, LIST, MAP, read_duration, read_memory, write_duration, write_memory
from penstock.errors import ConfigError, OptionIgnored, UnsupportedOperation


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("10 s", 10_000),
        ("10s", 10_000),
        ("1 min", 60_000),
        ("2 hours", 7_200_000),
        ("3d", 259_200_000),
        ("250", 250),
        ("250 ms", 250),
        (250, 250),
        (timedelta(seconds=1.5), 1500),
        (ps.Duration.of_minutes(2), 120_000),
    ],
)
def test_durations_as_flink_writes_them(text: Any, millis: int) -> None:
    assert read_duration(text) == millis


@pytest.mark.parametrize(
    ("text", "size"), [("64 mb", 64 << 20), ("1g", 1 << 30), ("20kb", 20 << 10), ("5 bytes", 5), ("12", 12), (7, 7)]
)
def test_memory_sizes_as_flink_writes_them(text: Any, size: int) -> None:
    assert read_memory(text) == size


@given(st.integers(0, 10**15))
def test_written_values_are_read_back(number: int) -> None:
    assert read_duration(write_duration(number)) == number
    assert read_memory(write_memory(number)) == number


words = st.text(st.characters(codec="utf-8", exclude_characters="\"'", exclude_categories=["Z", "C"]), min_size=1)


@given(st.lists(words))
def test_lists_are_read_back(parts: list[str]) -> None:
    assert LIST.read(LIST.write(parts)) == parts
    assert COMMA_LIST.read(COMMA_LIST.write(parts)) == parts


@given(st.dictionaries(words.filter(lambda w: ":" not in w), words))
def test_maps_are_read_back(table: dict[str, str]) -> None:
    assert MAP.read(MAP.write(table)) == table


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("restart-strategy.fixed-delay.delay", "ten seconds"),
        ("restart-strategy.fixed-delay.delay", True),
        ("state.local.size-limit", "64 pounds"),
        ("parallelism.default", 0),
        ("parallelism.default", 2.5),
        ("pipeline.max-parallelism", 40_000),
        ("pipeline.object-reuse", "yes"),
        ("execution.runtime-mode", "FAST"),
        ("pipeline.global-job-parameters", "a=1"),
        ("execution.checkpointing.dir", "hdfs://node/checkpoints"),
        ("pipeline.name", 7),
    ],
)
def test_a_wrong_value_raises_an_error_with_the_type(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match="OPTION_VALUE") as caught:
        Configuration({key: value})
    assert key in caught.value.text
    assert repr(value) in caught.value.text


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("paralelism.default", "parallelism.default"),
        ("execution.checkpointing.intervall", "execution.checkpointing.interval"),
        ("restart-strategy.fixed-delay.atempts", "restart-strategy.fixed-delay.attempts"),
        ("state.backend.typ", "state.backend.type"),
    ],
)
def test_an_unknown_key_raises_an_error_with_a_suggestion(key: str, nearest: str) -> None:
    with pytest.raises(ConfigError, match=f"UNKNOWN_OPTION.*Did you mean '{nearest}'"):
        Configuration({key: "1"})


def test_a_tuning_key_of_flink_is_stored_and_ignored_with_a_warning() -> None:
    with pytest.warns(OptionIgnored, match=r"taskmanager.numberOfTaskSlots.*no effect") as caught:
        made = Configuration({"taskmanager.numberOfTaskSlots": "4"})
    assert caught[0].filename == __file__
    assert made.get_integer("taskmanager.numberOfTaskSlots", 0) == 4


@pytest.mark.parametrize("key", ["pipeline.cached-files", "python.pythonpath"])
def test_an_unsupported_key_raises_an_error_with_the_reason(key: str) -> None:
    with pytest.raises(UnsupportedOperation, match=f"FLINK_OPTION.*{key}"):
        Configuration({key: "1"})


@pytest.mark.parametrize(
    ("older", "key", "value"),
    [
        ("state.backend", "state.backend.type", "hashmap"),
        ("state.checkpoints.dir", "execution.checkpointing.dir", "/data"),
        ("restart-strategy", "restart-strategy.type", "none"),
        ("execution.savepoint.path", "execution.state-recovery.path", "/data/one"),
        ("execution.buffer-timeout", "execution.buffer-timeout.interval", "5 ms"),
    ],
)
def test_deprecated_keys_set_the_same_option(older: str, key: str, value: str) -> None:
    made = Configuration({older: value})
    assert made.get_string(key, "") == made.get_string(older, "") == value
    assert made.to_dict() == {key: value}


def test_pyflinks_methods() -> None:
    made = Configuration()
    made.set_string("pipeline.name", "orders").set_integer("parallelism.default", 2)
    made.set_boolean("pipeline.object-reuse", True).set_float("state.log.fraction", 0.25)
    assert made.get_string("pipeline.name", "") == "orders"
    assert made.get_string("parallelism.default", "") == "2"
    assert made.get_integer("parallelism.default", 0) == 2
    assert made.get_boolean("pipeline.object-reuse", False) is True
    assert made.get_float("state.log.fraction", 0.0) == 0.25
    assert made.get_integer("execution.heartbeat", 17) == 17
    assert made.get_bytearray("pipeline.name", bytearray()) == bytearray(b"orders")
    assert made.key_set() == {"pipeline.name", "parallelism.default", "pipeline.object-reuse", "state.log.fraction"}
    assert made.contains_key("pipeline.name")
    assert made.remove_config("pipeline.name")
    assert not made.remove_config("pipeline.name")
    assert not made.contains_key("pipeline.name")
    target: dict[str, Any] = {"mine": 1}
    made.add_all_to_dict(target)
    assert target == {
        "mine": 1,
        "parallelism.default": 2,
        "pipeline.object-reuse": True,
        "state.log.fraction": 0.25,
    }
    with pytest.raises(ConfigError, match="OPTION_TYPE"):
        made.get_integer("pipeline.object-reuse", 0)
    with pytest.raises(ConfigError, match="OPTION_VALUE"):
        made.set_bytearray("pipeline.name", bytearray(b"x"))


def test_settings_of_the_program_keep_their_types() -> None:
    made = Configuration().set_string("k1", "v1").set_integer("k2", 1).set_float("k3", 1.5).set_boolean("k4", True)
    made.set_bytearray("k5", bytearray([1, 2]))
    target: dict[str, Any] = {}
    made.add_all_to_dict(target)
    assert target == {"k1": "v1", "k2": 1, "k3": 1.5, "k4": True, "k5": bytearray([1, 2])}
    assert made.remove_config("k5")
    assert made.to_dict() == {"k1": "v1", "k2": "1", "k3": "1.5", "k4": "true"}
    assert str(made) == "{k1=v1, k2=1, k3=1.5, k4=true}"
    assert Configuration().add_all(made, "mine_").get_integer("mine_k2") == 1
    assert Configuration(made) == made


@pytest.mark.parametrize("key", ["execution.mine", "state.of-the-art", "checkpointing.interval"])
def test_a_key_that_looks_like_an_option_must_be_one(key: str) -> None:
    with pytest.raises(ConfigError, match="UNKNOWN_OPTION"):
        Configuration({key: "1"})


def test_options_of_another_configuration_are_copied() -> None:
    base = Configuration.from_dict({"parallelism.default": "2", "spark.executor.cores": "4"})
    other = Configuration({"parallelism.default": 3, "pipeline.name": "b"})
    copied = Configuration(base)
    assert copied == base == copy.deepcopy(base)
    assert hash(copied) == hash(base)
    assert base.add_all(other) is base
    assert base.to_dict() == {"parallelism.default": "3", "pipeline.name": "b", "spark.executor.cores": "4"}
    assert copied != base
    assert copied.spark == {"spark.executor.cores": "4"}
    prefixed = Configuration().add_all(Configuration({"spark.executor.cores": "4"}), "spark.penstock.")
    assert prefixed.to_dict() == {"spark.penstock.spark.executor.cores": "4"}


def test_the_environment_variable_holds_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(config.OPTIONS_VARIABLE, json.dumps({"parallelism.default": 5, "pipeline.name": "given"}))
    assert Configuration({"pipeline.name": "own"}).to_dict() == {"parallelism.default": "5", "pipeline.name": "own"}
    monkeypatch.setenv(config.OPTIONS_VARIABLE, "[1]")
    with pytest.raises(ConfigError, match="OPTIONS_VARIABLE"):
        Configuration()


def test_every_default_fits_its_own_type() -> None:
    for option in config.options():
        if option.default is not None:
            assert option.read(option.default) == option.default, option.key
            assert option.read(option.kind.write(option.default)) == option.default, option.key
        assert option.doc.endswith("."), option.key


def test_options_can_be_imported_from_the_package() -> None:
    assert getattr(config, "PARALLELISM") is execution_options.PARALLELISM  # noqa: B009 - not known to mypy
    with pytest.raises(AttributeError, match="NO_SUCH_OPTION"):
        getattr(config, "NO_SUCH_OPTION")  # noqa: B009
