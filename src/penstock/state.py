"""State that a function may ask for: descriptors and the interfaces of what it gets.

Descriptors are plain descriptions. What runs is in `runtime/state/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any, Generic, Protocol, runtime_checkable

from typing_extensions import TypeVar

from penstock.errors import StateError
from penstock.time import Duration, millis_of
from penstock.types import TypeInformation, type_information

T = TypeVar("T", default=Any)
K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)
READ = TypeVar("READ", covariant=True, default=Any)
IN = TypeVar("IN", contravariant=True, default=Any)
OUT = TypeVar("OUT", covariant=True, default=Any)


class UpdateType(Enum):
    """What prolongs the life of an entry."""

    DISABLED = "disabled"
    ON_CREATE_AND_WRITE = "on_create_and_write"
    ON_READ_AND_WRITE = "on_read_and_write"


class StateVisibility(Enum):
    """Whether an expired entry that is still there may be seen."""

    RETURN_EXPIRED_IF_NOT_CLEANED_UP = "return_expired_if_not_cleaned_up"
    NEVER_RETURN_EXPIRED = "never_return_expired"


@dataclass(frozen=True, slots=True)
class CleanupStrategies:
    """How expired entries leave the state before they are touched again.

    `incremental` looks at that many entries with every batch and removes the expired ones; `full_snapshot` leaves them
    out of savepoints; `compaction` removes them while the log is folded into the base.
    """

    incremental: int = 1000
    full_snapshot: bool = False
    compaction: bool = True


@dataclass(frozen=True, slots=True)
class StateTtlConfig:
    """How long entries of a state live, in processing time.

    >>> StateTtlConfig.new_builder(Duration.of_seconds(5)).update_ttl_on_read_and_write().build().ttl
    5000
    """

    ttl: int
    update_type: UpdateType = UpdateType.ON_CREATE_AND_WRITE
    visibility: StateVisibility = StateVisibility.NEVER_RETURN_EXPIRED
    cleanup: CleanupStrategies = field(default_factory=CleanupStrategies)

    UpdateType = UpdateType
    StateVisibility = StateVisibility

    @staticmethod
    def new_builder(ttl: Duration | timedelta | int) -> StateTtlConfigBuilder:
        return StateTtlConfigBuilder(millis_of(ttl))


class StateTtlConfigBuilder:
    """Flink's builder of a StateTtlConfig."""

    def __init__(self, ttl: int) -> None:
        if ttl <= 0:
            raise StateError("TTL_NOT_POSITIVE", f"A time to live of {ttl} ms was given; it must be positive.")
        self._ttl = ttl
        self._update = UpdateType.ON_CREATE_AND_WRITE
        self._visibility = StateVisibility.NEVER_RETURN_EXPIRED
        self._incremental = 1000
        self._full_snapshot = False
        self._compaction = True

    def set_update_type(self, update_type: UpdateType) -> StateTtlConfigBuilder:
        self._update = update_type
        return self

    def update_ttl_on_create_and_write(self) -> StateTtlConfigBuilder:
        return self.set_update_type(UpdateType.ON_CREATE_AND_WRITE)

    def update_ttl_on_read_and_write(self) -> StateTtlConfigBuilder:
        return self.set_update_type(UpdateType.ON_READ_AND_WRITE)

    def set_state_visibility(self, visibility: StateVisibility) -> StateTtlConfigBuilder:
        self._visibility = visibility
        return self

    def return_expired_if_not_cleaned_up(self) -> StateTtlConfigBuilder:
        return self.set_state_visibility(StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP)

    def never_return_expired(self) -> StateTtlConfigBuilder:
        return self.set_state_visibility(StateVisibility.NEVER_RETURN_EXPIRED)

    def use_processing_time(self) -> StateTtlConfigBuilder:
        return self

    def cleanup_full_snapshot(self) -> StateTtlConfigBuilder:
        self._full_snapshot = True
        return self

    def cleanup_incrementally(
        self, cleanup_size: int, run_cleanup_for_every_record: bool = False
    ) -> StateTtlConfigBuilder:
        self._incremental = cleanup_size
        return self

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int = 1000, periodic_compaction_time: Any = None
    ) -> StateTtlConfigBuilder:
        self._compaction = True
        return self

    def disable_cleanup_in_background(self) -> StateTtlConfigBuilder:
        self._incremental = 0
        self._compaction = False
        return self

    def build(self) -> StateTtlConfig:
        cleanup = CleanupStrategies(self._incremental, self._full_snapshot, self._compaction)
        return StateTtlConfig(self._ttl, self._update, self._visibility, cleanup)


class StateDescriptor:
    """A state's name, kind and types."""

    kind = ""

    def __init__(self, name: str, value_type: TypeInformation | type | None = None) -> None:
        if not name:
            raise StateError("STATE_WITHOUT_NAME", "A state descriptor has an empty name; give it a name.")
        self.name = name
        self.value_type = type_information(value_type)
        self.ttl: StateTtlConfig | None = None

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        self.ttl = None if ttl_config.update_type is UpdateType.DISABLED else ttl_config

    def get_name(self) -> str:
        return self.name


class ValueStateDescriptor(StateDescriptor, Generic[T]):
    """One value per key.

    >>> ValueStateDescriptor("count", int).name
    'count'
    """

    kind = "value"

    def __init__(self, name: str, value_type_info: TypeInformation | type[T] | None = None) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor, Generic[T]):
    """A list per key; each element is stored by itself."""

    kind = "list"

    def __init__(self, name: str, elem_type_info: TypeInformation | type[T] | None = None) -> None:
        super().__init__(name, elem_type_info)


class MapStateDescriptor(StateDescriptor, Generic[K, V]):
    """A map per key; each entry is stored by itself. Also describes broadcast state."""

    kind = "map"

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation | type[K] | None = None,
        value_type_info: TypeInformation | type[V] | None = None,
    ) -> None:
        super().__init__(name, value_type_info)
        self.key_type = type_information(key_type_info)


class ReducingStateDescriptor(StateDescriptor, Generic[T]):
    """One value per key: all that was added, reduced by a function."""

    kind = "reducing"

    def __init__(self, name: str, reduce_function: Any, type_info: TypeInformation | type[T] | None = None) -> None:
        super().__init__(name, type_info)
        self.reduce_function = reduce_function


class AggregatingStateDescriptor(StateDescriptor, Generic[IN, OUT]):
    """One accumulator per key, kept by an aggregate function."""

    kind = "aggregating"

    def __init__(self, name: str, agg_function: Any, state_type_info: TypeInformation | type | None = None) -> None:
        super().__init__(name, state_type_info)
        self.agg_function = agg_function


@runtime_checkable
class State(Protocol):
    """Anything that can be cleared for the current key."""

    def clear(self) -> None: ...


class ValueState(State, Protocol[T]):
    """One value of the current key."""

    def value(self) -> T | None: ...
    def update(self, value: T) -> None: ...


class ListState(State, Protocol[T]):
    """A list of the current key."""

    def get(self) -> Iterator[T]: ...
    def add(self, value: T) -> None: ...
    def add_all(self, values: list[T]) -> None: ...
    def update(self, values: list[T]) -> None: ...
    def __iter__(self) -> Iterator[T]: ...


class ReducingState(State, Protocol[T]):
    """A value of the current key, reduced as elements are added."""

    def get(self) -> T | None: ...
    def add(self, value: T) -> None: ...


class AggregatingState(State, Protocol[IN, OUT]):
    """An accumulator of the current key."""

    def get(self) -> OUT | None: ...
    def add(self, value: IN) -> None: ...


class ReadOnlyMapState(Protocol[K, READ]):
    """A map that may be read."""

    def get(self, key: K) -> READ | None: ...
    def contains(self, key: K) -> bool: ...
    def items(self) -> Iterable[tuple[K, READ]]: ...
    def keys(self) -> Iterable[K]: ...
    def values(self) -> Iterable[READ]: ...
    def is_empty(self) -> bool: ...
    def __contains__(self, key: K) -> bool: ...
    def __getitem__(self, key: K) -> READ | None: ...
    def __iter__(self) -> Iterator[K]: ...


class MapState(ReadOnlyMapState[K, V], State, Protocol[K, V]):
    """A map of the current key."""

    def put(self, key: K, value: V) -> None: ...
    def put_all(self, dict_value: dict[K, V]) -> None: ...
    def remove(self, key: K) -> None: ...
    def __setitem__(self, key: K, value: V) -> None: ...
    def __delitem__(self, key: K) -> None: ...


class ReadOnlyBroadcastState(ReadOnlyMapState[K, READ], Protocol[K, READ]):
    """Broadcast state as the keyed side sees it."""


class BroadcastState(MapState[K, V], Protocol[K, V]):
    """Broadcast state as the broadcast side sees it: equal on all subtasks."""
