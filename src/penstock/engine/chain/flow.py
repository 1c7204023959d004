"""Elements in a chain, and the elements that they came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.runtime.loop.records import Column, Tags, column


class ChainInput:
    """Timestamps and tags of the elements that entered a chain, by index. Both are computed when first needed."""

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
    """Elements in a chain: values, and for each the index of the element of `base` that it came from.

    In the chains of tables, the values are `Changes` between the steps on columns.
    """

    __slots__ = ("at", "base", "values")

    def __init__(self, values: Any, base: ChainInput, at: Column | None = None) -> None:
        self.values = values
        self.base = base
        self.at = at  # None: element i came from i

    def timestamps(self) -> Column:
        return self.base.timestamps if self.at is None else self.base.timestamps[self.at]

    def tags(self) -> Tags:
        """Tags with new counts, so that results of one element keep their order."""
        tags = self.base.tags if self.at is None else self.base.tags.take(self.at)
        return replace(tags, count=np.arange(len(self.values), dtype=np.int64))

    def origin(self, index: int) -> tuple[Tags, int] | None:
        """The tags of the base and the index of an element in them; None if the base has no tags for it."""
        at = index if self.at is None else int(self.at[index])
        tags = self.base.tags
        return (tags, at) if at < len(tags.position) else None

    def derive(self, values: Any, picked: Any) -> Flow:
        picked = column(picked)
        return Flow(values, self.base, picked if self.at is None else self.at[picked])
