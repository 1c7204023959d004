"""Models of the kinds of state in plain Python, without store, batches or encoding. Each model is the state of one key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.runtime.state.keys import encode_key
from penstock.ttl import StateTtlConfig, StateVisibility, UpdateType

Clock = Callable[[], int]
Entry = list[Any]  # [timestamp, value]


class Expiration:
    """Decides when entries expire. Without a configuration, they never expire."""

    def __init__(self, config: StateTtlConfig | None, clock: Clock) -> None:
        self._config = config
        self._clock = clock

    def entry(self, value: Any) -> Entry:
        return [self._clock(), value]

    def expired(self, entry: Entry) -> bool:
        config = self._config
        ends = config is not None and config.update_type is not UpdateType.Disabled
        return config is not None and ends and bool(entry[0] + config.ttl <= self._clock())

    def visible(self, entry: Entry) -> bool:
        """Returns whether an entry is visible to a read, and renews or drops it."""
        if not self.expired(entry):
            if self._config is not None and self._config.update_type is UpdateType.OnReadAndWrite:
                entry[0] = self._clock()
            return True
        assert self._config is not None
        return self._config.visibility is StateVisibility.ReturnExpiredIfNotCleanedUp


class ValueModel:
    def __init__(self, life: Expiration) -> None:
        self._life = life
        self._entry: Entry | None = None

    def value(self) -> Any:
        entry = self._entry
        if entry is None:
            return None
        if self._life.expired(entry):
            self._entry = None
        return entry[1] if self._life.visible(entry) else None

    def update(self, value: Any) -> None:
        self._entry = None if value is None else self._life.entry(value)

    def clear(self) -> None:
        self._entry = None


class ReducingModel(ValueModel):
    def get(self) -> Any:
        return self.value()

    def add(self, value: Any) -> None:
        before = self.value()
        self.update(value if before is None else before + value)


class AggregatingModel(ValueModel):
    """The model of an aggregate with a count and a sum."""

    def get(self) -> Any:
        accumulator = self.value()
        return None if accumulator is None else tuple(accumulator)

    def add(self, value: Any) -> None:
        count, total = self.value() or (0, 0)
        self.update([count + 1, total + value])


class ListModel:
    def __init__(self, life: Expiration) -> None:
        self._life = life
        self._entries: list[Entry] = []

    def get(self) -> Iterator[Any]:
        before = self._entries
        self._entries = [e for e in before if not self._life.expired(e)]
        return iter([e[1] for e in before if self._life.visible(e)])

    def add(self, value: Any) -> None:
        self._entries.append(self._life.entry(value))

    def add_all(self, values: list[Any]) -> None:
        self._entries += [self._life.entry(v) for v in values]

    def update(self, values: list[Any]) -> None:
        self._entries = [self._life.entry(v) for v in values]

    def clear(self) -> None:
        self._entries = []


class MapModel:
    def __init__(self, life: Expiration) -> None:
        self._life = life
        self._entries: dict[Any, Entry] = {}

    def _is_visible(self, key: Any) -> bool:
        entry = self._entries.get(key)
        if entry is None:
            return False
        if self._life.expired(entry):
            del self._entries[key]
        return self._life.visible(entry)

    def get(self, key: Any) -> Any:
        entry = self._entries.get(key)
        return entry[1] if entry is not None and self._is_visible(key) else None

    def contains(self, key: Any) -> bool:
        return self._is_visible(key)

    def put(self, key: Any, value: Any) -> None:
        self._entries[key] = self._life.entry(value)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self._entries.pop(key, None)

    def items(self) -> Iterator[tuple[Any, Any]]:
        for key in sorted(self._entries, key=lambda k: encode_key(k)[0]):
            entry = self._entries[key]
            if self._is_visible(key):
                yield key, entry[1]

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        return (value for _, value in self.items())

    def is_empty(self) -> bool:
        return next(self.items(), None) is None

    def clear(self) -> None:
        self._entries = {}


MODELS: dict[str, Callable[[Expiration], Any]] = {
    "value": ValueModel,
    "list": ListModel,
    "map": MapModel,
    "reducing": ReducingModel,
    "aggregating": AggregatingModel,
}
