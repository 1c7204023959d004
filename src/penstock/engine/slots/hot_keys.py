"""Hot keys: keys of many elements of a batch, estimated from a small sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from penstock.runtime.columnar.column_block import ColumnBlock
from penstock.runtime.failure import short_repr

HotKeys = list[tuple[str, float]]  # keys as text, and their fraction of the elements

_SAMPLE = 256
_MIN_ELEMENTS = 256  # smaller batches are ignored
_MIN_FRACTION = 0.1
_MAX_KEYS = 3
_random = np.random.default_rng()


def hot_keys(keys: Sequence[Any]) -> HotKeys:
    """The keys of at least a tenth of the elements.

    >>> hot_keys(["a"] * 900 + ["b"] * 100)[0][0]
    "'a'"
    >>> hot_keys(range(1000))
    []
    """
    if len(keys) < _MIN_ELEMENTS:
        return []
    # A random sample, because elements often repeat at regular distances.
    sample = [keys[at] for at in _random.integers(0, len(keys), _SAMPLE).tolist()]
    try:
        return _above_minimum(Counter(sample).most_common(_MAX_KEYS), _SAMPLE)
    except TypeError:  # a key without a hash cannot be counted
        return []


def hot_keys_of_blocks(blocks: Iterable[ColumnBlock]) -> HotKeys:
    """The hot keys of elements in columns, which may already be combined."""
    key_counts: Counter[Any] = Counter()
    total = 0
    for block in blocks:
        if len(block):
            counts = np.bincount(block.codes, weights=block.counts)
            total += int(counts.sum())
            for code in np.argsort(counts)[-_MAX_KEYS:].tolist():
                key_counts[block.keys[code]] += int(counts[code])
    return _above_minimum(key_counts.most_common(_MAX_KEYS), total) if total >= _MIN_ELEMENTS else []


def _above_minimum(counted: list[tuple[Any, int]], total: int) -> HotKeys:
    fractions = ((key, count / total) for key, count in counted)
    return [(short_repr(key), round(fraction, 3)) for key, fraction in fractions if fraction >= _MIN_FRACTION]
