"""State descriptors and the interfaces of state.

The implementations are in `runtime/state/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, Self, runtime_checkable

from typing_extensions import TypeVar

from penstock.errors import StateError
from penstock.ttl import StateTtlConfig
from penstock.types import TypeInformation, type_information
from penstock.types.evolution import FIRST_VERSION, Evolution, Migrate, make_evolution

T = TypeVar("T", default=Any)
K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)
READ = TypeVar("READ", covariant=True, default=Any)
IN = TypeVar("IN", contravariant=True, default=Any)
OUT = TypeVar("OUT", covariant=True, default=Any)


class StateDescriptor:
    """Base class of state descriptors: the name and the type of a state."""

    kind = ""

    def __init__(self, name: str, value_type: TypeInformation | type | None = None) -> None:
        if not name:
            raise StateError(
                "STATE_WITHOUT_NAME",
                "A state descriptor has an empty name. Pass a name.",
            )
        self.name = name
        self.value_type = type_information(value_type)
        self.ttl: StateTtlConfig | None = None
        self.evolution: Evolution | None = None  # None: the evolution of the type applies

    def evolve(
        self,
        *,
        version: int = FIRST_VERSION,
        aliases: Mapping[str, str | Sequence[str]] | None = None,
        defaults: Mapping[str, Any] | None = None,
        migrate: Migrate | None = None,
    ) -> Self:
        """Declares how the type of this state differs from earlier versions of the program.

        Use it for types without a class. For a class, use `@state_type`. For rows, `aliases` maps a field to its earlier names
        and `defaults` has the values of added fields. `migrate(from_version, old)` converts values of lower versions.

        >>> from penstock.types import Types
        >>> cents = ValueStateDescriptor("price", Types.LONG())
        >>> cents.evolve(version=2, migrate=lambda version, old: round(old * 100)).evolution.version
        2
        """
        self.evolution = make_evolution(version, aliases, defaults, migrate, f"state '{self.name}'")
        return self

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Enables the expiration of entries."""
        config: Any = ttl_config
        if not isinstance(config, StateTtlConfig):
            raise StateError(
                "STATE_TTL",
                f"enable_time_to_live() got {config!r}. Pass a StateTtlConfig such as "
                "StateTtlConfig.new_builder(Duration.of_hours(1)).build().",
            )
        self.ttl = ttl_config if ttl_config.is_enabled() else None

    def get_name(self) -> str:
        """Returns the name of the state, which identifies it in checkpoints."""
        return self.name


class ValueStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a state with one value per key.

    >>> ValueStateDescriptor("count", int).name
    'count'
    """

    kind = "value"

    def __init__(self, name: str, value_type_info: TypeInformation | type[T] | None = None) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a state with a list per key. Elements are stored individually."""

    kind = "list"

    def __init__(self, name: str, elem_type_info: TypeInformation | type[T] | None = None) -> None:
        super().__init__(name, elem_type_info)


class MapStateDescriptor(StateDescriptor, Generic[K, V]):
    """Describes a state with a map per key, or broadcast state. Entries are stored individually."""

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
    """Describes a state with one value per key, to which added elements are reduced."""

    kind = "reducing"

    def __init__(self, name: str, reduce_function: Any, type_info: TypeInformation | type[T] | None = None) -> None:
        super().__init__(name, type_info)
        self.reduce_function = reduce_function

    def get_reduce_function(self) -> Any:
        """Returns the reduce function."""
        return self.reduce_function


class AggregatingStateDescriptor(StateDescriptor, Generic[IN, OUT]):
    """Describes a state with one accumulator per key, to which an aggregate function adds elements."""

    kind = "aggregating"

    def __init__(self, name: str, agg_function: Any, state_type_info: TypeInformation | type | None = None) -> None:
        super().__init__(name, state_type_info)
        self.agg_function = agg_function

    def get_agg_function(self) -> Any:
        """Returns the aggregate function."""
        return self.agg_function


@runtime_checkable
class State(Protocol):
    """Interface of all kinds of state."""

    def clear(self) -> None:
        """Removes the state of the current key."""


class ValueState(State, Protocol[T]):
    """A single value for the current key."""

    def value(self) -> T | None:
        """Returns the value for the current key, or None."""

    def update(self, value: T) -> None:
        """Sets the value for the current key. None removes it."""


class AppendingState(State, Protocol[IN, OUT]):
    """State for the current key to which elements are added."""

    def get(self) -> OUT | None:
        """Returns the current value, or None if nothing was added."""

    def add(self, value: IN) -> None:
        """Adds an element."""


class MergingState(AppendingState[IN, OUT], Protocol[IN, OUT]):
    """Appending state that can be merged, as for session windows."""


class ListState(MergingState[T, Iterator[T]], Protocol[T]):
    """A list for the current key."""

    def get(self) -> Iterator[T]:
        """Returns the elements in the order in which they were added."""

    def add_all(self, values: list[T]) -> None:
        """Adds several elements."""

    def update(self, values: list[T]) -> None:
        """Replaces all elements."""

    def __iter__(self) -> Iterator[T]: ...


class ReducingState(MergingState[T, T], Protocol[T]):
    """A value for the current key, to which added elements are reduced."""


class AggregatingState(MergingState[IN, OUT], Protocol[IN, OUT]):
    """An accumulator for the current key. `get` returns the result of the aggregate function."""


class ReadOnlyMapState(Protocol[K, READ]):
    """Read-only access to a map."""

    def get(self, key: K) -> READ | None:
        """Returns the value of a map key, or None."""

    def contains(self, key: K) -> bool:
        """Returns whether the map has this key."""

    def items(self) -> Iterable[tuple[K, READ]]:
        """Returns all keys with their values."""

    def keys(self) -> Iterable[K]:
        """Returns all keys."""

    def values(self) -> Iterable[READ]:
        """Returns all values."""

    def is_empty(self) -> bool:
        """Returns whether the map is empty."""

    def __contains__(self, key: K) -> bool: ...
    def __getitem__(self, key: K) -> READ | None: ...
    def __iter__(self) -> Iterator[K]: ...


class MapState(ReadOnlyMapState[K, V], State, Protocol[K, V]):
    """A map for the current key."""

    def put(self, key: K, value: V) -> None:
        """Sets the value of a map key."""

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Sets the values of several map keys."""

    def remove(self, key: K) -> None:
        """Removes a map key, if it exists."""

    def __setitem__(self, key: K, value: V) -> None: ...
    def __delitem__(self, key: K) -> None: ...


class ReadOnlyBroadcastState(ReadOnlyMapState[K, READ], Protocol[K, READ]):
    """Broadcast state on the non-broadcast side, which may only read it."""


class BroadcastState(MapState[K, V], Protocol[K, V]):
    """Broadcast state on the broadcast side, which may change it. It must be equal on all subtasks."""


class OperatorStateStore(Protocol):
    """Access to operator state. Only broadcast state is supported."""

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """Returns the broadcast state of a descriptor."""
