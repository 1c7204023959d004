"""Keys that many elements of a batch have: told from a small sample, so that nothing is counted element by element."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from penstock.runtime.failure import shortened
from penstock.runtime.vector.blocks import Block

HotKeys = list[tuple[str, float]]  # keys as people read them, and their shares of the elements

_SAMPLE = 256
_LEAST_ELEMENTS = 256  # a batch of fewer says nothing
_LEAST_SHARE = 0.1
_MOST = 3
_chance = np.random.default_rng()


def hot_keys(keys: Sequence[Any]) -> HotKeys:
    """The keys that at least a tenth of the elements have.

    >>> hot_keys(["a"] * 900 + ["b"] * 100)[0][0]
    "'a'"
    >>> hot_keys(range(1000))
    []
    """
    if len(keys) < _LEAST_ELEMENTS:
        return []
    # By chance and not every so many: elements often come in rounds.
    sample = [keys[at] for at in _chance.integers(0, len(keys), _SAMPLE).tolist()]
    try:
        return _told(Counter(sample).most_common(_MOST), _SAMPLE)
    except TypeError:  # a key without a hash has no name here
        return []


def hot_keys_of_blocks(blocks: Iterable[Block]) -> HotKeys:
    """The same of elements in columns, or of what they were combined to."""
    found: Counter[Any] = Counter()
    total = 0
    for block in blocks:
        if len(block):
            counts = np.bincount(block.codes, weights=block.counts)
            total += int(counts.sum())
            for code in np.argsort(counts)[-_MOST:].tolist():
                found[block.keys[code]] += int(counts[code])
    return _told(found.most_common(_MOST), total) if total >= _LEAST_ELEMENTS else []


def _told(counted: list[tuple[Any, int]], total: int) -> HotKeys:
    shares = ((key, count / total) for key, count in counted)
    return [(shortened(key), round(share, 3)) for key, share in shares if share >= _LEAST_SHARE]
