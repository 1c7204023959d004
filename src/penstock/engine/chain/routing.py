"""Chooses the slot of each element that moves to another operator."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from penstock.engine.flow import Flow
from penstock.engine.place import ChunkName, Place
from penstock.engine.shares import Shares
from penstock.engine.steps import SendStep
from penstock.errors import KeyError_
from penstock.runtime.call_site import CallSite
from penstock.runtime.failure import shortened
from penstock.runtime.keys import CACHED_KEYS, CacheTrial, encode_key, encoded_at_once, key_hash
from penstock.runtime.records import Column, column
from penstock.types import TypeInformation
from penstock.types.information import Misfit

_SPREAD = 0x9E3779B97F4A7C15
_FEW_SLOTS = 8


class Routed(NamedTuple):
    """Elements on their way out of a chain: `slots` holds for each slot the indices of its elements, None for all.

    In batch mode it holds addresses (see `Shares`).
    """

    flow: Flow
    keys: list[Any] | None
    slots: list[tuple[int, Any]]
    dead: Flow | None = None  # letters for the elements that could not be routed


class Router:
    """Chooses each element's slot; in batch mode the share of it too."""

    def __init__(self, step: SendStep, max_parallelism: int, shares: Shares | None = None) -> None:
        self._step = step
        self._shares = shares
        self._key = _method(step.selector, "get_key")
        self._partition = _method(step.partitioner, "partition")
        self._slots = _SlotTable(step.parallelism, max_parallelism)
        self._width = step.parallelism
        if shares is not None and step.partition == "key":
            self._slots = _AddressTable(step.parallelism, max_parallelism, shares)
            self._width = shares.addresses
        self._typed = None if step.key_type is None else _converter(step.key_type)
        self.site = CallSite(step.name, step.uid, self._key if step.partition == "key" else self._partition)

    def route(self, flow: Flow, chunk: ChunkName, place: Place) -> Routed:
        routed = self._route(flow, chunk, place)
        if self._shares is None or self._step.partition in ("key", "broadcast"):
            return routed
        return routed._replace(slots=[(self._shares.address(slot, 1), at) for slot, at in routed.slots])

    def _route(self, flow: Flow, chunk: ChunkName, place: Place) -> Routed:
        step, n = self._step, len(flow.values)
        width = step.parallelism
        if self._key is not None:
            return self._sift(flow) if step.guarded else self._by_key(flow)
        if step.partition == "split":
            return Routed(flow, [chunk.split] * n, [(self._slots[chunk.split], None)])
        if step.partition == "broadcast":
            return Routed(flow, None, [(slot, None) for slot in range(width)])
        if step.partition == "global":
            return Routed(flow, None, [(0, None)])
        if step.partition == "forward":
            return Routed(flow, None, [(place.slot % width, None)])
        tags = flow.tags()
        if step.partition == "shuffle":  # scattered, yet the same when the batch runs again
            mixed = (tags.position * 31 + tags.count).astype(np.uint64) * np.uint64(_SPREAD)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_SPREAD)
            return Routed(flow, None, _groups((mixed >> np.uint64(33)).astype(np.int64) % width, width))
        spread = tags.count + (chunk.start if chunk.split is not None else place.slot)
        return Routed(flow, None, _groups(spread % width, width))

    def slot_of(self, key: Any) -> int:
        """The slot of a key."""
        return self._slots[key]

    def keyed(self, flow: Flow, choose: Callable[[Any], int]) -> tuple[Flow, list[Any], Column, Flow | None]:
        """Elements, their keys, what `choose` makes of each key, and dead letters of elements without one."""
        if self._step.guarded:
            return self._sifted(flow, choose)
        keys, chosen = self._keys(flow, choose)
        return flow, keys, chosen, None

    def _by_key(self, flow: Flow) -> Routed:
        """By keys that the user's function takes from elements."""
        at_once = self._slots.of_all if self._step.partition == "key" else None
        return self._routed(flow, *self._keys(flow, self._chooser(), at_once))

    def _keys(
        self, flow: Flow, choose: Callable[[Any], int], at_once: Callable[[list[Any]], Column | None] | None = None
    ) -> tuple[list[Any], Column]:
        key, values, n = self._key, flow.values, len(flow.values)
        rest: Iterator[Any] = iter(values)
        keys: list[Any] = []
        try:
            keys = [key(v) for v in rest]  # type: ignore[misc]
            rest = iter(keys)
            if self._typed is not None:
                keys = [self._typed(k) for k in rest]
                rest = iter(keys)
            chosen = None if at_once is None else at_once(keys)
            if chosen is None:
                chosen = np.fromiter(map(choose, rest), np.int64, n)
        except Exception as error:
            at = n - operator.length_hint(rest) - 1
            known = {"key": keys[at]} if keys else {}
            raise self.site.error(_of_key(error, known), element=values[at], origin=flow.origin(at), **known) from error
        return keys, chosen

    def _sift(self, flow: Flow) -> Routed:
        """The same, element by element: those that cannot be routed become dead letters."""
        flow, keys, chosen, dead = self._sifted(flow, self._chooser())
        return self._routed(flow, keys, chosen)._replace(dead=dead)

    def _sifted(self, flow: Flow, choose: Callable[[Any], int]) -> tuple[Flow, list[Any], Column, Flow | None]:
        key = self._key
        keys, chosen, picked, letters, dead = [], [], [], [], []
        for at, value in enumerate(flow.values):
            known: dict[str, Any] = {}
            try:
                known["key"] = key(value)  # type: ignore[misc]
                if self._typed is not None:
                    known["key"] = self._typed(known["key"])
                chosen.append(choose(known["key"]))
                keys.append(known["key"])
                picked.append(at)
            except Exception as error:
                told = _of_key(error, known)
                letters.append(self.site.letter(told, element=value, origin=flow.origin(at), **known))
                dead.append(at)
        if not letters:
            return flow, keys, column(chosen), None
        good = flow.derive([flow.values[i] for i in picked], picked)
        return good, keys, column(chosen), flow.derive(letters, dead)

    def _routed(self, flow: Flow, keys: list[Any], chosen: Column) -> Routed:
        return Routed(flow, keys if self._step.partition == "key" else None, _groups(chosen, self._width))

    def _chooser(self) -> Callable[[Any], int]:
        """From a key to its slot."""
        if self._step.partition == "key":
            return self._slots.__getitem__
        partition, width = self._partition, self._step.parallelism
        assert partition is not None

        def choose(key: Any) -> int:
            subtask = int(partition(key, width))
            if not 0 <= subtask < width:
                raise ValueError(f"the partitioner chose subtask {subtask}; there are subtasks 0 to {width - 1}")
            return subtask

        return choose


def _of_key(error: Exception, known: dict[str, Any]) -> Exception:
    """A key that cannot be looked up cannot be a key."""
    if known and isinstance(error, TypeError) and "unhashable" in str(error):
        kind = type(known["key"]).__name__
        return KeyError_(
            "KEY_UNHASHABLE",
            f"The key of an element is {shortened(known['key'])}, and a {kind} can change, so it cannot be a key. "
            "Use a tuple for a list, a frozenset for a set, a frozen dataclass for one that is not.",
        )
    return error


def _converter(key_type: TypeInformation) -> Callable[[Any], Any]:
    """Keys as what key_by declared them to be."""

    def typed(key: Any) -> Any:
        try:
            return key_type.convert_part(key)  # None is refused where keys are encoded
        except Misfit as misfit:
            raise KeyError_(
                "KEY_MISFIT",
                f"The keys are declared as {key_type.name}, and key {shortened(key)} does not fit: {misfit}. "
                "Change the key selector, or the key_type of key_by.",
            ) from None

    return typed


class _SlotTable(dict[Any, int]):
    """A bounded cache from keys to slots."""

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self._max_parallelism = max_parallelism
        self._slot_of_group = [slot_of_group(g, parallelism, max_parallelism) for g in range(max_parallelism)]
        self._column = np.array(self._slot_of_group, np.int64)
        self._trial = CacheTrial()

    def of_all(self, keys: list[Any]) -> Column | None:
        """The slots of many keys, where the table would have few of them; None: it is better asked one by one."""
        if self._trial.is_worth(len(keys)):
            return None
        found = encoded_at_once(keys)
        return None if found is None else self._column[(found[1] % np.uint64(self._max_parallelism)).astype(np.int64)]

    def __missing__(self, key: Any) -> int:
        self._trial.lacked += 1
        if len(self) >= CACHED_KEYS:
            self.clear()
        slot = self[key] = self._slot_of_group[key_hash(encode_key(key)[0]) % self._max_parallelism]
        return slot


class _AddressTable(_SlotTable):
    """The same from keys to addresses, for batch mode."""

    def __init__(self, parallelism: int, max_parallelism: int, shares: Shares) -> None:
        super().__init__(parallelism, max_parallelism)
        self._shares = shares

    def of_all(self, keys: list[Any]) -> Column | None:
        return None

    def __missing__(self, key: Any) -> int:
        if len(self) >= CACHED_KEYS:
            self.clear()
        hashed = key_hash(encode_key(key)[0])
        address = self[key] = self._shares.of_key(self._slot_of_group[hashed % self._max_parallelism], hashed)
        return address


def slot_of_group(group: int, parallelism: int, max_parallelism: int) -> int:
    """The slot that holds a key group: groups are spread in ranges, as in Flink."""
    return group * parallelism // max_parallelism


def _groups(slots: Column, width: int) -> list[tuple[int, Any]]:
    """The indices of each slot's elements; None for all of them."""
    if width == 1:
        return [(0, None)]
    if width > _FEW_SLOTS:
        order = np.argsort(slots.astype(np.int32), kind="stable")
        found_slots, starts = np.unique(slots[order], return_index=True)
        return list(zip(found_slots.tolist(), np.split(order, starts[1:]), strict=True))
    found = [(slot, np.flatnonzero(slots == slot)) for slot in range(width)]
    return [(slot, at) for slot, at in found if len(at)]


def _method(thing: Any, name: str) -> Callable[..., Any] | None:
    return getattr(thing, name, thing) if thing is not None else None
