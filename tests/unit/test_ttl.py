"""Configuration of the time to live of state."""

from __future__ import annotations

from datetime import timedelta

import pytest

import penstock as ps
from penstock.errors import StateError
from penstock.ttl import StateTtlConfig


def test_defaults_are_flinks() -> None:
    config = StateTtlConfig.new_builder(ps.Time.seconds(2)).build()
    assert config.get_ttl() == ps.Time.milliseconds(2000)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert config.is_enabled()
    assert config.get_cleanup_strategies().is_cleanup_in_background()
    assert not config.get_cleanup_strategies().in_full_snapshot()


def test_everything_can_be_set() -> None:
    builder = StateTtlConfig.Builder(5).set_ttl(timedelta(seconds=1)).return_expired_if_not_cleaned_up()
    config = builder.set_update_type(StateTtlConfig.UpdateType.Disabled).cleanup_full_snapshot().build()
    assert config.get_ttl().to_milliseconds() == 1000
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    assert config.get_cleanup_strategies().in_full_snapshot()
    assert not config.is_enabled()
    descriptor = ps.ValueStateDescriptor("s")
    descriptor.enable_time_to_live(config)
    assert descriptor.ttl is None


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")
def test_explicit_cleanup_stays_enabled_without_background_cleanup() -> None:
    def cleanup(builder: StateTtlConfig.Builder) -> StateTtlConfig.CleanupStrategies:
        return builder.disable_cleanup_in_background().build().get_cleanup_strategies()

    off = cleanup(StateTtlConfig.new_builder(5))
    assert (off.get_incremental_cleanup_strategy(), off.get_rocksdb_compact_filter_cleanup_strategy()) == (None, None)
    assert off.entries_per_batch == 0

    asked = cleanup(StateTtlConfig.new_builder(5).cleanup_incrementally(7, True)).get_incremental_cleanup_strategy()
    assert asked is not None
    assert (asked.get_cleanup_size(), asked.run_cleanup_for_every_record()) == (7, True)
    assert cleanup(StateTtlConfig.new_builder(5).cleanup_incrementally(7, True)).entries_per_batch == 7

    filtered = cleanup(StateTtlConfig.new_builder(5).cleanup_in_rocksdb_compact_filter(10))
    strategy = filtered.get_rocksdb_compact_filter_cleanup_strategy()
    assert strategy is not None
    assert strategy.get_query_time_after_num_entries() == 10
    assert strategy.get_periodic_compaction_time() == ps.Duration.of_days(30)
    assert filtered.entries_per_batch > 0


@pytest.mark.parametrize("ttl", [0, -1, ps.Time.seconds(0)])
def test_a_time_to_live_must_be_positive(ttl: ps.Duration | int) -> None:
    with pytest.raises(StateError, match="TTL_NOT_POSITIVE"):
        StateTtlConfig.new_builder(ttl)
    with pytest.raises(StateError, match="TTL_NOT_POSITIVE"):
        StateTtlConfig.new_builder(1).set_ttl(ttl)
