"""Time to live of state: how long entries are kept, what prolongs it, and how expired ones leave."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import TypeAlias

from penstock.errors import StateError
from penstock.time import Duration, Time, millis_of

_LOOKED_AT = 1000  # entries per batch and state, unless a program says otherwise


class TtlCleanup:
    """How expired entries leave the state before they are touched again; `StateTtlConfig.CleanupStrategies` is this.

    >>> TtlCleanup({}, True).get_incremental_cleanup_strategy().get_cleanup_size()
    1000
    """

    class Strategies(Enum):
        """The ways in which expired entries leave."""

        FULL_STATE_SCAN_SNAPSHOT = 0
        INCREMENTAL_CLEANUP = 1
        ROCKSDB_COMPACTION_FILTER = 2

    class CleanupStrategy:
        """Settings of one way."""

    class EmptyCleanupStrategy(CleanupStrategy):
        """A way without settings."""

    class IncrementalCleanupStrategy(CleanupStrategy):
        """Looks at some entries with every batch, and removes the expired ones."""

        def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
            self._cleanup_size = cleanup_size
            self._for_every_record = run_cleanup_for_every_record

        def get_cleanup_size(self) -> int:
            return self._cleanup_size

        def run_cleanup_for_every_record(self) -> bool:
            return self._for_every_record

    class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
        """Flink's settings for RocksDB. State here has no compaction of its own: incremental cleanup does this work."""

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
        found = self.get_incremental_cleanup_strategy()
        filtered = TtlCleanup.Strategies.ROCKSDB_COMPACTION_FILTER in strategies
        #: how many entries are looked at with every batch; 0: an expired entry leaves when it is touched
        self.looked_at = found.get_cleanup_size() if found is not None else _LOOKED_AT if filtered else 0

    def is_cleanup_in_background(self) -> bool:
        """Whether expired entries are removed without being asked for."""
        return self._in_background

    def in_full_snapshot(self) -> bool:
        """Whether snapshots were asked to be without expired entries; here cleanup with every batch keeps them out."""
        return TtlCleanup.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        """How many entries are looked at with each batch; None: cleanup in the background is off."""
        chosen = self._strategies.get(TtlCleanup.Strategies.INCREMENTAL_CLEANUP)
        if isinstance(chosen, TtlCleanup.IncrementalCleanupStrategy):
            return chosen
        return TtlCleanup.IncrementalCleanupStrategy(_LOOKED_AT, False) if self._in_background else None

    def get_rocksdb_compact_filter_cleanup_strategy(self) -> RocksdbCompactFilterCleanupStrategy | None:
        """What was set for RocksDB, else the default; None: cleanup in the background is off."""
        chosen = self._strategies.get(TtlCleanup.Strategies.ROCKSDB_COMPACTION_FILTER)
        if isinstance(chosen, TtlCleanup.RocksdbCompactFilterCleanupStrategy):
            return chosen
        return TtlCleanup.RocksdbCompactFilterCleanupStrategy(_LOOKED_AT) if self._in_background else None


class StateTtlConfigBuilder:
    """Flink's builder of a StateTtlConfig."""

    def __init__(self, ttl: Duration | timedelta | int) -> None:
        self._ttl = _positive(ttl)
        self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
        self._visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
        self._characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
        self._in_background = True
        self._strategies: dict[TtlCleanup.Strategies, TtlCleanup.CleanupStrategy] = {}

    def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfigBuilder:
        """What makes an entry live on."""
        self._update_type = update_type
        return self

    def update_ttl_on_create_and_write(self) -> StateTtlConfigBuilder:
        """An entry lives on when it is written."""
        return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> StateTtlConfigBuilder:
        """An entry lives on when it is read or written."""
        return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: StateTtlConfig.StateVisibility) -> StateTtlConfigBuilder:
        """Whether expired entries that are still there can be seen."""
        self._visibility = state_visibility
        return self

    def return_expired_if_not_cleaned_up(self) -> StateTtlConfigBuilder:
        """Expired entries can be seen until they are removed."""
        return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> StateTtlConfigBuilder:
        """Expired entries cannot be seen."""
        return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(
        self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
    ) -> StateTtlConfigBuilder:
        """The clock that lives are measured by."""
        self._characteristic = ttl_time_characteristic
        return self

    def use_processing_time(self) -> StateTtlConfigBuilder:
        """Lives are measured by processing time."""
        return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)

    def cleanup_full_snapshot(self) -> StateTtlConfigBuilder:
        """Accepted: expired entries are removed some at a time, with every batch."""
        return self._with(TtlCleanup.Strategies.FULL_STATE_SCAN_SNAPSHOT, TtlCleanup.EMPTY_STRATEGY)

    def cleanup_incrementally(
        self, cleanup_size: int, run_cleanup_for_every_record: bool = False
    ) -> StateTtlConfigBuilder:
        """Looks at this many entries with every batch; a batch is the least step here, so there is none per record."""
        strategy = TtlCleanup.IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record)
        return self._with(TtlCleanup.Strategies.INCREMENTAL_CLEANUP, strategy)

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int = 1000, periodic_compaction_time: Duration | None = None
    ) -> StateTtlConfigBuilder:
        """Accepted: expired entries are removed some at a time, with every batch."""
        strategy = TtlCleanup.RocksdbCompactFilterCleanupStrategy(
            query_time_after_num_entries, periodic_compaction_time
        )
        return self._with(TtlCleanup.Strategies.ROCKSDB_COMPACTION_FILTER, strategy)

    def disable_cleanup_in_background(self) -> StateTtlConfigBuilder:
        """Leaves expired entries until they are touched, unless a way of cleanup was asked for by name."""
        self._in_background = False
        return self

    def set_ttl(self, ttl: Duration | timedelta | int) -> StateTtlConfigBuilder:
        """How long entries live."""
        self._ttl = _positive(ttl)
        return self

    def _with(self, way: TtlCleanup.Strategies, strategy: TtlCleanup.CleanupStrategy) -> StateTtlConfigBuilder:
        self._strategies[way] = strategy
        return self

    def build(self) -> StateTtlConfig:
        """The configuration."""
        cleanup = TtlCleanup(self._strategies, self._in_background)
        return StateTtlConfig(self._update_type, self._visibility, self._characteristic, self._ttl, cleanup)


class StateTtlConfig:
    """How long entries of a state live, in processing time.

    >>> config = StateTtlConfig.new_builder(Time.seconds(5)).update_ttl_on_read_and_write().build()
    >>> config.get_ttl().to_milliseconds(), config.get_update_type().name
    (5000, 'OnReadAndWrite')
    """

    class UpdateType(Enum):
        """What prolongs the life of an entry."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an expired entry that is still there may be seen."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """Which clock counts; Flink knows this one only."""

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
        self.update_type = update_type
        self.visibility = state_visibility
        self._characteristic = ttl_time_characteristic
        self.ttl = _positive(ttl)  # milliseconds
        self.cleanup = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Duration | timedelta | int) -> StateTtlConfigBuilder:
        """A builder for entries that live so long."""
        return StateTtlConfigBuilder(ttl)

    def get_update_type(self) -> UpdateType:
        """What makes an entry live on."""
        return self.update_type

    def get_state_visibility(self) -> StateVisibility:
        """Whether expired entries that are still there can be seen."""
        return self.visibility

    def get_ttl(self) -> Time:
        """How long entries live."""
        return Time.milliseconds(self.ttl)

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """The clock that lives are measured by."""
        return self._characteristic

    def is_enabled(self) -> bool:
        """Whether entries expire at all."""
        return self.update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> TtlCleanup:
        """How expired entries are removed."""
        return self.cleanup

    def __repr__(self) -> str:
        return f"StateTtlConfig({self.ttl} ms, {self.update_type.name}, {self.visibility.name})"


def _positive(ttl: Duration | timedelta | int) -> int:
    millis = millis_of(ttl)
    if millis <= 0:
        raise StateError("TTL_NOT_POSITIVE", f"A time to live of {millis} ms was given; it must be positive.")
    return millis


UpdateType = StateTtlConfig.UpdateType
StateVisibility = StateTtlConfig.StateVisibility
