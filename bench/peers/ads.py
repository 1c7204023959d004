"""Generates the ad events of the Yahoo streaming benchmark in the order of event time, with known results.

Event n belongs to user n % 100,000. Every third event is a view, and there are 50 events per millisecond. Ads are random with a
fixed seed, so the expected counts can be computed for any number of events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

START = 1_700_000_000_000
PER_MS = 50
USERS = 100_000
ADS = 1000
WINDOW_MS = 10_000
PARTITIONS = 2
_BLOCK = 100_000
_AD_TYPES = (b"banner", b"modal", b"sponsored-search", b"mail", b"mobile")
_EVENT_TYPES = (b"view", b"click", b"purchase")

CAMPAIGN_OF = {f"ad-{ad}": f"camp-{ad // 10}" for ad in range(ADS)}


def _blocks(events: int) -> Iterator[tuple[int, Any, Any]]:
    """Yields blocks: the number of the first event, the ads and the ad types."""
    for first in range(0, events, _BLOCK):
        rng = np.random.default_rng(first)
        size = min(_BLOCK, events - first)
        yield first, rng.integers(0, ADS, _BLOCK)[:size], rng.integers(0, len(_AD_TYPES), _BLOCK)[:size]


def messages(events: int) -> Iterator[bytes]:
    """Yields the events as JSON."""
    for first, ads, kinds in _blocks(events):
        for n, (ad, kind) in enumerate(zip(ads.tolist(), kinds.tolist(), strict=True), first):
            yield (
                b'{"user_id":"user-%d","page_id":"page-%d","ad_id":"ad-%d","ad_type":"%s","event_type":"%s",'
                b'"event_time":%d,"ip_address":"1.2.3.4"}'
                % (n % USERS, n % 1000, ad, _AD_TYPES[kind], _EVENT_TYPES[n % 3], START + n // PER_MS)
            )


def expected_counts(events: int) -> dict[tuple[str, int], int]:
    """Returns the expected counts of job Y: the number of views by campaign and start of the window."""
    views: Counter[tuple[str, int]] = Counter()
    for first, ads, _ in _blocks(events):
        numbers = np.arange(first, first + len(ads))
        is_view = numbers % 3 == 0
        windows = (START + numbers[is_view] // PER_MS) // WINDOW_MS
        codes, counts = np.unique(windows * 1000 + ads[is_view] // 10, return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            views[f"camp-{code % 1000}", code // 1000 * WINDOW_MS] += count
    return dict(views)
