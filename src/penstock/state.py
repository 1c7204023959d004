"""State that a function may ask for: descriptors and the interfaces of what it gets.

Descriptors are plain descriptions. What runs is in `runtime/state/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, Self, runtime_checkable

from typing_extensions import TypeVar

from penstock.errors import StateError
from penstock.ttl import StateTtlConfig
from penstock.types import TypeInformation, type_information
from penstock.types.evolution import FIRST_VERSION, Evolution, Migrate, evolution

T = TypeVar("T", default=Any)
K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)
READ = TypeVar("READ", covariant=True, default=Any)
IN = TypeVar("IN", contravariant=True, default=Any)
OUT = TypeVar("OUT", covariant=True, default=Any)


class StateDescriptor:
    """A state's name, kind and types."""

    kind = ""

    def __init__(self, name: str, value_type: TypeInformation | type | None = None) -> None:
        if not name:
            raise StateError("STATE_WITHOUT_NAME", "A state descriptor has an empty name; give it a name.")
        self.name = name
        self.value_type = type_information(value_type)
        self.ttl: StateTtlConfig | None = None
        self.evolution: Evolution | None = None  # None: as its type says

    def evolve(
        self,
        *,
        version: int = FIRST_VERSION,
        aliases: Mapping[str, str | Sequence[str]] | None = None,
        defaults: Mapping[str, Any] | None = None,
        migrate: Migrate | None = None,
    ) -> Self:
        """Says how this state's type differs from what earlier versions of the program stored.

        For types without a class of their own; a class says it by `@state_type`. `aliases` and `defaults` are for the
        fields of rows: earlier names, and values of fields that are new. `migrate(from_version, old)` makes the new value
        of an old one of a lower version.

        >>> from penstock.types import Types
        >>> cents = ValueStateDescriptor("price", Types.LONG())
        >>> cents.evolve(version=2, migrate=lambda version, old: round(old * 100)).evolution.version
        2
        """
        self.evolution = evolution(version, aliases, defaults, migrate, f"state '{self.name}'")
        return self

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Lets entries expire."""
        given: Any = ttl_config
        if not isinstance(given, StateTtlConfig):
            raise StateError(
                "STATE_TTL",
                f"enable_time_to_live() got {given!r}; it takes a StateTtlConfig: "
                "StateTtlConfig.new_builder(Duration.of_hours(1)).build().",
            )
        self.ttl = ttl_config if ttl_config.is_enabled() else None

    def get_name(self) -> str:
        """The state's name in checkpoints."""
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

    def get_reduce_function(self) -> Any:
        """The function that makes one element of two."""
        return self.reduce_function


class AggregatingStateDescriptor(StateDescriptor, Generic[IN, OUT]):
    """One accumulator per key, kept by an aggregate function."""

    kind = "aggregating"

    def __init__(self, name: str, agg_function: Any, state_type_info: TypeInformation | type | None = None) -> None:
        super().__init__(name, state_type_info)
        self.agg_function = agg_function

    def get_agg_function(self) -> Any:
        """The function that adds elements up."""
        return self.agg_function


@runtime_checkable
class State(Protocol):
    """Anything that can be cleared for the current key."""

    def clear(self) -> None:
        """Removes the state of the current key."""


class ValueState(State, Protocol[T]):
    """One value of the current key."""

    def value(self) -> T | None:
        """The current key's value; None when it has none."""

    def update(self, value: T) -> None:
        """Sets the current key's value; None removes it."""


class AppendingState(State, Protocol[IN, OUT]):
    """Something of the current key that elements are added to."""

    def get(self) -> OUT | None:
        """What was added so far; None when nothing was."""

    def add(self, value: IN) -> None:
        """Adds one element."""


class MergingState(AppendingState[IN, OUT], Protocol[IN, OUT]):
    """Something that two of can be made one, as when session windows meet."""


class ListState(MergingState[T, Iterator[T]], Protocol[T]):
    """A list of the current key."""

    def get(self) -> Iterator[T]:
        """The elements in the order in which they were added."""

    def add_all(self, values: list[T]) -> None:
        """Adds several elements."""

    def update(self, values: list[T]) -> None:
        """Puts these elements in the place of all others."""

    def __iter__(self) -> Iterator[T]: ...


class ReducingState(MergingState[T, T], Protocol[T]):
    """A value of the current key, reduced as elements are added."""


class AggregatingState(MergingState[IN, OUT], Protocol[IN, OUT]):
    """An accumulator of the current key."""


class ReadOnlyMapState(Protocol[K, READ]):
    """A map that may be read."""

    def get(self, key: K) -> READ | None:
        """The value of a map key; None when there is none."""

    def contains(self, key: K) -> bool:
        """Whether the map has this key."""

    def items(self) -> Iterable[tuple[K, READ]]:
        """All keys with their values."""

    def keys(self) -> Iterable[K]:
        """All keys."""

    def values(self) -> Iterable[READ]:
        """All values."""

    def is_empty(self) -> bool:
        """Whether the map has no entry."""

    def __contains__(self, key: K) -> bool: ...
    def __getitem__(self, key: K) -> READ | None: ...
    def __iter__(self) -> Iterator[K]: ...


class MapState(ReadOnlyMapState[K, V], State, Protocol[K, V]):
    """A map of the current key."""

    def put(self, key: K, value: V) -> None:
        """Sets the value of a map key."""

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Sets several values."""

    def remove(self, key: K) -> None:
        """Removes a map key; nothing happens when it is not there."""

    def __setitem__(self, key: K, value: V) -> None: ...
    def __delitem__(self, key: K) -> None: ...


class ReadOnlyBroadcastState(ReadOnlyMapState[K, READ], Protocol[K, READ]):
    """Broadcast state as the keyed side sees it."""


class BroadcastState(MapState[K, V], Protocol[K, V]):
    """Broadcast state as the broadcast side sees it: equal on all subtasks."""


class OperatorStateStore(Protocol):
    """Where state of a whole operator is found: broadcast state is the only one that there is."""

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """The broadcast state of a descriptor."""
