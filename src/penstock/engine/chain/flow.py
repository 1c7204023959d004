"""Elements on their way through a chain, and where they came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.runtime.records import Column, Tags, column


class Base:
    """What is known of the elements that entered a chain: timestamps and tags, by index."""

    def __init__(self, timestamps: Column | Callable[[], Column], tags: Callable[[], Tags], now: int = 0) -> None:
        self._timestamps = timestamps
        self._make_tags = tags
        self._tags: Tags | None = None
        self.now = now

    @property
    def timestamps(self) -> Column:
        if callable(self._timestamps):
            self._timestamps = self._timestamps()
        return self._timestamps

    @property
    def tags(self) -> Tags:
        if self._tags is None:
            self._tags = self._make_tags()
        return self._tags


class Flow:
    """Elements on their way: values, and for each the index of the element of `base` that it came from."""

    __slots__ = ("at", "base", "values")

    def __init__(self, values: list[Any], base: Base, at: Column | None = None) -> None:
        self.values = values
        self.base = base
        self.at = at  # None: element i came from i

    def timestamps(self) -> Column:
        return self.base.timestamps if self.at is None else self.base.timestamps[self.at]

    def tags(self) -> Tags:
        """With counts anew: elements made from one element keep their order."""
        tags = self.base.tags if self.at is None else self.base.tags.take(self.at)
        return replace(tags, count=np.arange(len(self.values), dtype=np.int64))

    def origin(self, index: int) -> tuple[Tags, int] | None:
        """Where an element came from: an index of the base's tags; None where nobody kept track."""
        at = index if self.at is None else int(self.at[index])
        tags = self.base.tags
        return (tags, at) if at < len(tags.position) else None

    def derive(self, values: list[Any], picked: Any) -> Flow:
        picked = column(picked)
        return Flow(values, self.base, picked if self.at is None else self.at[picked])
