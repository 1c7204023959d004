"""Time to live (TTL) of state."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import TypeAlias

from penstock.errors import StateError, check_enum, warn_ignored
from penstock.time import Duration, Time, to_millis

_DEFAULT_CLEANUP_SIZE = 1000  # entries per batch and state


class TtlCleanup:
    """How expired entries are removed before they are accessed again. Also named `StateTtlConfig.CleanupStrategies`.

    >>> TtlCleanup({}, True).get_incremental_cleanup_strategy().get_cleanup_size()
    1000
    """

    class Strategies(Enum):
        """The cleanup strategies."""

        FULL_STATE_SCAN_SNAPSHOT = 0
        INCREMENTAL_CLEANUP = 1
        ROCKSDB_COMPACTION_FILTER = 2

    class CleanupStrategy:
        """Settings of a cleanup strategy."""

    class EmptyCleanupStrategy(CleanupStrategy):
        """A cleanup strategy without settings."""

    class IncrementalCleanupStrategy(CleanupStrategy):
        """Checks some entries in every batch and removes those that are expired."""

        def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
            self._cleanup_size = cleanup_size
            self._for_every_record = run_cleanup_for_every_record

        def get_cleanup_size(self) -> int:
            return self._cleanup_size

        def run_cleanup_for_every_record(self) -> bool:
            return self._for_every_record

    class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
        """Flink's settings for RocksDB compaction filters. Penstock uses incremental cleanup instead."""

        def __init__(self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None) -> None:
            self._query_time_after_num_entries = query_time_after_num_entries
            self._periodic_compaction_time = periodic_compaction_time or Duration.of_days(30)

        def get_query_time_after_num_entries(self) -> int:
            return self._query_time_after_num_entries

        def get_periodic_compaction_time(self) -> Duration:
            return self._periodic_compaction_time

    EMPTY_STRATEGY = EmptyCleanupStrategy()

    def __init__(self, strategies: dict[Strategies, CleanupStrategy], is_cleanup_in_background: bool) -> None:
        self._strategies = dict(strategies)
        self._in_background = is_cleanup_in_background
        incremental = self.get_incremental_cleanup_strategy()
        compacts = TtlCleanup.Strategies.ROCKSDB_COMPACTION_FILTER in strategies
        #: Number of entries that are checked in every batch. 0: expired entries are removed only when they are accessed.
        self.entries_per_batch = (
            incremental.get_cleanup_size() if incremental is not None else _DEFAULT_CLEANUP_SIZE if compacts else 0
        )

    def is_cleanup_in_background(self) -> bool:
        """Returns whether expired entries are removed in the background."""
        return self._in_background

    def in_full_snapshot(self) -> bool:
        """Returns whether savepoints leave out expired entries."""
        return TtlCleanup.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        """Returns the incremental cleanup strategy, or None if background cleanup is disabled."""
        chosen = self._strategies.get(TtlCleanup.Strategies.INCREMENTAL_CLEANUP)
        if isinstance(chosen, TtlCleanup.IncrementalCleanupStrategy):
            return chosen
        return TtlCleanup.IncrementalCleanupStrategy(_DEFAULT_CLEANUP_SIZE, False) if self._in_background else None

    def get_rocksdb_compact_filter_cleanup_strategy(self) -> RocksdbCompactFilterCleanupStrategy | None:
        """Returns the RocksDB strategy that was configured, or its default. None if background cleanup is disabled."""
        chosen = self._strategies.get(TtlCleanup.Strategies.ROCKSDB_COMPACTION_FILTER)
        if isinstance(chosen, TtlCleanup.RocksdbCompactFilterCleanupStrategy):
            return chosen
        return TtlCleanup.RocksdbCompactFilterCleanupStrategy(_DEFAULT_CLEANUP_SIZE) if self._in_background else None


class StateTtlConfigBuilder:
    """Builder of a `StateTtlConfig`."""

    def __init__(self, ttl: Duration | timedelta | int) -> None:
        self._ttl = _positive(ttl)
        self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
        self._visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
        self._characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
        self._in_background = True
        self._strategies: dict[TtlCleanup.Strategies, TtlCleanup.CleanupStrategy] = {}

    def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfigBuilder:
        """Sets which accesses renew the time to live of an entry."""
        check_enum("set_update_type", update_type, StateTtlConfig.UpdateType)
        self._update_type = update_type
        return self

    def update_ttl_on_create_and_write(self) -> StateTtlConfigBuilder:
        """Renews the time to live of an entry when it is written. This is the default."""
        return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> StateTtlConfigBuilder:
        """Renews the time to live of an entry when it is read or written."""
        return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: StateTtlConfig.StateVisibility) -> StateTtlConfigBuilder:
        """Sets whether expired entries are returned until they are removed."""
        check_enum("set_state_visibility", state_visibility, StateTtlConfig.StateVisibility)
        self._visibility = state_visibility
        return self

    def return_expired_if_not_cleaned_up(self) -> StateTtlConfigBuilder:
        """Returns expired entries as long as they are not removed."""
        return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> StateTtlConfigBuilder:
        """Never returns expired entries. This is the default."""
        return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(
        self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
    ) -> StateTtlConfigBuilder:
        """Sets the time characteristic of the time to live. As in Flink, there is only processing time."""
        kind = StateTtlConfig.TtlTimeCharacteristic
        check_enum("set_ttl_time_characteristic", ttl_time_characteristic, kind)
        self._characteristic = ttl_time_characteristic
        return self

    def use_processing_time(self) -> StateTtlConfigBuilder:
        """Measures the time to live in processing time. This is the only time characteristic."""
        return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)

    def cleanup_full_snapshot(self) -> StateTtlConfigBuilder:
        """Leaves expired entries out of savepoints. Without it, savepoints contain those that are not removed yet, as in Flink."""
        return self._with(TtlCleanup.Strategies.FULL_STATE_SCAN_SNAPSHOT, TtlCleanup.EMPTY_STRATEGY)

    def cleanup_incrementally(
        self, cleanup_size: int, run_cleanup_for_every_record: bool = False
    ) -> StateTtlConfigBuilder:
        """Checks this many entries in every batch. `run_cleanup_for_every_record` has no effect."""
        size: object = cleanup_size
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise StateError(
                "STATE_TTL",
                f"cleanup_incrementally() got {size!r}. Pass the number of entries to check in every batch, or 0 for none.",
            )
        if run_cleanup_for_every_record:
            warn_ignored(
                "cleanup_incrementally: run_cleanup_for_every_record has no effect. Entries are checked once per batch."
            )
        strategy = TtlCleanup.IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record)
        return self._with(TtlCleanup.Strategies.INCREMENTAL_CLEANUP, strategy)

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int = 1000, periodic_compaction_time: Duration | None = None
    ) -> StateTtlConfigBuilder:
        """Accepted for compatibility, has no effect. Expired entries are removed incrementally, in every batch."""
        warn_ignored(
            "cleanup_in_rocksdb_compact_filter() has no effect. Expired entries are removed in every batch; "
            "cleanup_incrementally() sets how many are checked."
        )
        strategy = TtlCleanup.RocksdbCompactFilterCleanupStrategy(
            query_time_after_num_entries, periodic_compaction_time
        )
        return self._with(TtlCleanup.Strategies.ROCKSDB_COMPACTION_FILTER, strategy)

    def disable_cleanup_in_background(self) -> StateTtlConfigBuilder:
        """Disables background cleanup. Expired entries are then removed when they are accessed, or by a strategy set explicitly."""
        self._in_background = False
        return self

    def set_ttl(self, ttl: Duration | timedelta | int) -> StateTtlConfigBuilder:
        """Sets the time to live."""
        self._ttl = _positive(ttl)
        return self

    def _with(self, kind: TtlCleanup.Strategies, strategy: TtlCleanup.CleanupStrategy) -> StateTtlConfigBuilder:
        self._strategies[kind] = strategy
        return self

    def build(self) -> StateTtlConfig:
        """Returns the configuration."""
        cleanup = TtlCleanup(self._strategies, self._in_background)
        return StateTtlConfig(self._update_type, self._visibility, self._characteristic, self._ttl, cleanup)


class StateTtlConfig:
    """Configures the time to live of state entries, in processing time.

    >>> config = StateTtlConfig.new_builder(Time.seconds(5)).update_ttl_on_read_and_write().build()
    >>> config.get_ttl().to_milliseconds(), config.get_update_type().name
    (5000, 'OnReadAndWrite')
    """

    class UpdateType(Enum):
        """Which accesses renew the time to live of an entry."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an expired entry is returned until it is removed."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """The time characteristic of the time to live. As in Flink, there is only processing time."""

        ProcessingTime = 0

    Builder: TypeAlias = StateTtlConfigBuilder
    CleanupStrategies: TypeAlias = TtlCleanup

    def __init__(
        self,
        update_type: UpdateType,
        state_visibility: StateVisibility,
        ttl_time_characteristic: TtlTimeCharacteristic,
        ttl: Duration | timedelta | int,
        cleanup_strategies: TtlCleanup,
    ) -> None:
        for value, kind in (
            (update_type, StateTtlConfig.UpdateType),
            (state_visibility, StateTtlConfig.StateVisibility),
            (ttl_time_characteristic, StateTtlConfig.TtlTimeCharacteristic),
        ):
            check_enum("StateTtlConfig", value, kind)
        self.update_type = update_type
        self.visibility = state_visibility
        self._characteristic = ttl_time_characteristic
        self.ttl = _positive(ttl)  # milliseconds
        self.cleanup = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Duration | timedelta | int) -> StateTtlConfigBuilder:
        """Returns a builder for a configuration with this time to live."""
        return StateTtlConfigBuilder(ttl)

    def get_update_type(self) -> UpdateType:
        """Returns which accesses renew the time to live of an entry."""
        return self.update_type

    def get_state_visibility(self) -> StateVisibility:
        """Returns whether expired entries are returned until they are removed."""
        return self.visibility

    def get_ttl(self) -> Time:
        """Returns the time to live."""
        return Time.milliseconds(self.ttl)

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """Returns the time characteristic of the time to live."""
        return self._characteristic

    def is_enabled(self) -> bool:
        """Returns whether entries expire."""
        return self.update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> TtlCleanup:
        """Returns how expired entries are removed."""
        return self.cleanup

    def __repr__(self) -> str:
        return f"StateTtlConfig({self.ttl} ms, {self.update_type.name}, {self.visibility.name})"


def _positive(ttl: Duration | timedelta | int) -> int:
    millis = to_millis(ttl)
    if millis <= 0:
        raise StateError("TTL_NOT_POSITIVE", f"The time to live is {millis} ms, but must be positive.")
    return millis


UpdateType = StateTtlConfig.UpdateType
StateVisibility = StateTtlConfig.StateVisibility
