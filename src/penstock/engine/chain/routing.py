"""Routing: chooses the slot of each element that is sent to another operator."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from penstock.engine.chain.flow import Flow
from penstock.engine.program.batch_partitions import BatchPartitions
from penstock.engine.program.steps import SendStep
from penstock.engine.program.subtask_context import ChunkPosition, SubtaskContext
from penstock.engine.slots.entry_groups import slot_of_group
from penstock.errors import InvalidKeyError
from penstock.runtime.failure import short_repr
from penstock.runtime.loop.call_site import CallSite
from penstock.runtime.loop.records import Column, column
from penstock.runtime.state.keys import (
    CACHED_KEYS,
    CachePolicy,
    encode_key,
    encode_keys,
    hashable_key,
    key_hash,
)
from penstock.types import TypeInformation
from penstock.types.information import Misfit

_MULTIPLIER = 0x9E3779B97F4A7C15
_FEW_SLOTS = 8


class Routed(NamedTuple):
    """Routed elements: `slots` holds the indices of the elements of each slot, None for all elements.

    In batch mode it holds addresses instead of slots (see `BatchPartitions`).
    """

    flow: Flow
    keys: list[Any] | None
    slots: list[tuple[int, Any]]
    dead: Flow | None = None  # dead letters of elements that cannot be routed


class Router:
    """Chooses the slot of each element, and in batch mode also its partition."""

    def __init__(self, step: SendStep, max_parallelism: int, partitions: BatchPartitions | None = None) -> None:
        self._step = step
        self._partitions = partitions
        self._key = _method(step.selector, "get_key")
        self._partition = _method(step.partitioner, "partition")
        self._slots = _SlotTable(step.parallelism, max_parallelism)
        self._width = step.parallelism
        if partitions is not None and step.partition == "key":
            self._slots = _AddressTable(step.parallelism, max_parallelism, partitions)
            self._width = partitions.address_count
        self._convert_key = None if step.key_type is None else _converter(step.key_type)
        self.site = CallSite(step.name, step.uid, self._key if step.partition == "key" else self._partition)

    def route(self, flow: Flow, chunk: ChunkPosition, subtask: SubtaskContext) -> Routed:
        routed = self._route(flow, chunk, subtask)
        if self._partitions is None or self._step.partition in ("key", "broadcast"):
            return routed
        return routed._replace(slots=[(self._partitions.address(slot, 1), at) for slot, at in routed.slots])

    def _route(self, flow: Flow, chunk: ChunkPosition, subtask: SubtaskContext) -> Routed:
        step, n = self._step, len(flow.values)
        width = step.parallelism
        if self._key is not None:
            return self._by_key_guarded(flow) if step.guarded else self._by_key(flow)
        if step.partition == "split":
            return Routed(flow, [chunk.split] * n, [(self._slots[chunk.split], None)])
        if step.partition == "broadcast":
            return Routed(flow, None, [(slot, None) for slot in range(width)])
        if step.partition == "global":
            return Routed(flow, None, [(0, None)])
        if step.partition == "forward":
            return Routed(flow, None, [(subtask.slot % width, None)])
        tags = flow.tags()
        if step.partition == "shuffle":  # pseudo-random, but equal when the batch is repeated
            mixed = (tags.position * 31 + tags.count).astype(np.uint64) * np.uint64(_MULTIPLIER)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_MULTIPLIER)
            return Routed(flow, None, _groups((mixed >> np.uint64(33)).astype(np.int64) % width, width))
        spread = tags.count + (chunk.start if chunk.split is not None else subtask.slot)
        return Routed(flow, None, _groups(spread % width, width))

    def slot_of(self, key: Any) -> int:
        """The slot of a key."""
        return self._slots[key]

    def keyed(self, flow: Flow, choose: Callable[[Any], int]) -> tuple[Flow, list[Any], Column, Flow | None]:
        """Elements, their keys, what `choose` returns for each key, and dead letters of elements without a key."""
        if self._step.guarded:
            return self._keys_one_by_one(flow, choose)
        keys, chosen = self._keys(flow, choose)
        return flow, keys, chosen, None

    def _by_key(self, flow: Flow) -> Routed:
        """Routes by the keys that the user's selector extracts."""
        for_all = self._slots.slots_of if self._step.partition == "key" else None
        return self._routed(flow, *self._keys(flow, self._chooser(), for_all))

    def _keys(
        self, flow: Flow, choose: Callable[[Any], int], for_all: Callable[[list[Any]], Column | None] | None = None
    ) -> tuple[list[Any], Column]:
        key, values, n = self._key, flow.values, len(flow.values)
        rest: Iterator[Any] = iter(values)
        keys: list[Any] = []
        try:
            keys = [key(v) for v in rest]  # type: ignore[misc]
            rest = iter(keys)
            if self._convert_key is not None:
                keys = [self._convert_key(k) for k in rest]
                rest = iter(keys)
            chosen = None if for_all is None else for_all(keys)
            if chosen is None:
                try:
                    chosen = np.fromiter(map(choose, rest), np.int64, n)
                except TypeError as error:
                    if self._step.partition != "key" or not _is_unhashable(error):
                        raise
                    keys = [hashable_key(k) for k in keys]
                    rest = iter(keys)
                    chosen = np.fromiter(map(choose, rest), np.int64, n)
        except Exception as error:
            at = n - operator.length_hint(rest) - 1
            details = {"key": keys[at]} if keys else {}
            raise self.site.error(
                _key_error(error, details), element=values[at], origin=flow.origin(at), **details
            ) from error
        return keys, chosen

    def _by_key_guarded(self, flow: Flow) -> Routed:
        """Routes element by element. Elements that cannot be routed become dead letters."""
        flow, keys, chosen, dead = self._keys_one_by_one(flow, self._chooser())
        return self._routed(flow, keys, chosen)._replace(dead=dead)

    def _keys_one_by_one(self, flow: Flow, choose: Callable[[Any], int]) -> tuple[Flow, list[Any], Column, Flow | None]:
        key = self._key
        keys, chosen, picked, dead_letters, rejected = [], [], [], [], []
        for at, value in enumerate(flow.values):
            details: dict[str, Any] = {}
            try:
                details["key"] = key(value)  # type: ignore[misc]
                if self._convert_key is not None:
                    details["key"] = self._convert_key(details["key"])
                if self._step.partition == "key":
                    details["key"] = hashable_key(details["key"])
                chosen.append(choose(details["key"]))
                keys.append(details["key"])
                picked.append(at)
            except Exception as error:
                error = _key_error(error, details)
                dead_letters.append(self.site.dead_letter(error, element=value, origin=flow.origin(at), **details))
                rejected.append(at)
        if not dead_letters:
            return flow, keys, column(chosen), None
        routable = flow.derive([flow.values[i] for i in picked], picked)
        return routable, keys, column(chosen), flow.derive(dead_letters, rejected)

    def _routed(self, flow: Flow, keys: list[Any], chosen: Column) -> Routed:
        return Routed(flow, keys if self._step.partition == "key" else None, _groups(chosen, self._width))

    def _chooser(self) -> Callable[[Any], int]:
        """Returns the function from a key to its slot."""
        if self._step.partition == "key":
            return self._slots.__getitem__
        partition, width = self._partition, self._step.parallelism
        assert partition is not None

        def choose(key: Any) -> int:
            subtask = int(partition(key, width))
            if not 0 <= subtask < width:
                raise ValueError(
                    f"the partitioner returned subtask {subtask}, but there are only subtasks 0 to {width - 1}"
                )
            return subtask

        return choose


def _key_error(error: Exception, details: dict[str, Any]) -> Exception:
    """The error for a key that has no hash; other errors are returned unchanged."""
    if details and _is_unhashable(error):
        kind = type(details["key"]).__name__
        return InvalidKeyError(
            "KEY_UNHASHABLE",
            f"The key of an element is {short_repr(details['key'])}, but a {kind} has no hash and cannot be a key. "
            "Use a tuple, a frozenset or a frozen dataclass.",
        )
    return error


def _is_unhashable(error: Exception) -> bool:
    return isinstance(error, TypeError) and "unhashable" in str(error)


def _converter(key_type: TypeInformation) -> Callable[[Any], Any]:
    """Returns the function that converts keys to the declared key type."""

    def convert(key: Any) -> Any:
        try:
            return key_type.convert_nullable(key)  # a key of None is rejected when keys are encoded
        except Misfit as misfit:
            raise InvalidKeyError(
                "KEY_MISFIT",
                f"The keys are declared as {key_type.name}, but key {short_repr(key)} does not have this type: {misfit}. "
                "Change the key selector, or the key_type of key_by.",
            ) from None

    return convert


class _SlotTable(dict[Any, int]):
    """A bounded cache from keys to slots."""

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self._max_parallelism = max_parallelism
        self._slot_of_group = [slot_of_group(g, parallelism, max_parallelism) for g in range(max_parallelism)]
        self._column = np.array(self._slot_of_group, np.int64)
        self._trial = CachePolicy()

    def slots_of(self, keys: list[Any]) -> Column | None:
        """The slots of many keys, if most of them would not be cached; None if single lookups are faster."""
        if self._trial.should_use(len(keys)):
            return None
        encoded = encode_keys(keys)
        return (
            None if encoded is None else self._column[(encoded[1] % np.uint64(self._max_parallelism)).astype(np.int64)]
        )

    def __missing__(self, key: Any) -> int:
        self._trial.misses += 1
        if len(self) >= CACHED_KEYS:
            self.clear()
        slot = self[key] = self._slot_of_group[key_hash(encode_key(key)[0]) % self._max_parallelism]
        return slot


class _AddressTable(_SlotTable):
    """A bounded cache from keys to addresses, for batch mode."""

    def __init__(self, parallelism: int, max_parallelism: int, partitions: BatchPartitions) -> None:
        super().__init__(parallelism, max_parallelism)
        self._partitions = partitions

    def slots_of(self, keys: list[Any]) -> Column | None:
        return None

    def __missing__(self, key: Any) -> int:
        if len(self) >= CACHED_KEYS:
            self.clear()
        hashed = key_hash(encode_key(key)[0])
        address = self[key] = self._partitions.key_address(self._slot_of_group[hashed % self._max_parallelism], hashed)
        return address


def _groups(slots: Column, width: int) -> list[tuple[int, Any]]:
    """The indices of the elements of each slot; None for all elements."""
    if width == 1:
        return [(0, None)]
    if width > _FEW_SLOTS:
        order = np.argsort(slots.astype(np.int32), kind="stable")
        used_slots, starts = np.unique(slots[order], return_index=True)
        return list(zip(used_slots.tolist(), np.split(order, starts[1:]), strict=True))
    groups = [(slot, np.flatnonzero(slots == slot)) for slot in range(width)]
    return [(slot, at) for slot, at in groups if len(at)]


def _method(thing: Any, name: str) -> Callable[..., Any] | None:
    return getattr(thing, name, thing) if thing is not None else None
