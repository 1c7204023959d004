"""Generates the events of Nexmark as JSON in the order of event time: 2 % persons, 6 % auctions and 92 % bids.

Event n has the same content in every run. Half of the bids are for one of the newest auctions, three of four bids come from one
of the newest bidders, and half have one of four popular channels, as in the generator of Nexmark. There are ten events per
millisecond.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np

PARTITIONS = 4
PER_MS = 10
START = datetime(2024, 3, 1, 7, 58, tzinfo=UTC)  # so that minutes, hours and times of the day change
SIDE_KEYS = 10_000

_GROUP = 50  # events of which the first is a person, the next three are auctions, and the rest are bids
_AUCTIONS = 3
_BLOCK = 50_000  # a multiple of _GROUP
_FIRST_ID = 1000
_ACTIVE_PEOPLE = 1000
_OPEN_AUCTIONS = 100
_CHANNELS = 10_000
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_LETTERS = np.frombuffer(string.ascii_lowercase.encode(), dtype="u1")


def _time_text(event: int) -> str:
    """Returns the time of an event as the JSON format of Flink writes it."""
    return (START + timedelta(milliseconds=event // PER_MS)).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


class _Texts:
    """Random text of one block. Text is cut from one string, because to draw each letter would take most of the time."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._letters = _LETTERS[rng.integers(0, 26, 1 << 16)].tobytes().decode()
        self._starts = rng.integers(0, (1 << 16) - 600, 1 << 16).tolist()
        self._next = 0

    def cut(self, length: int) -> str:
        self._next = (self._next + 1) & 0xFFFF
        start = self._starts[self._next]
        return self._letters[start : start + length]


def _channels() -> list[tuple[str, str]]:
    """Returns the channels that are not popular, with their addresses. Nine of ten addresses name the channel."""
    rng = np.random.default_rng(1)
    texts = _Texts(rng)
    found = []
    for number in range(_CHANNELS):
        url = f"https://www.nexmark.com/{texts.cut(5)}/{texts.cut(5)}/{texts.cut(5)}/item.htm?query=1"
        if number % 10:
            url += f"&channel_id={int(f'{number:032b}'[::-1], 2) & 0x7FFFFFFF}"
        found.append((f"channel-{number}", url))
    return found


def messages(events: int) -> Iterator[bytes]:
    """Yields the events as JSON."""
    channels = _channels()
    hot = [(name, f"https://www.nexmark.com/{name.lower()}/a/b/item.htm?query=1") for name in _HOT_CHANNELS]
    for first in range(0, events, _BLOCK):
        size = min(_BLOCK, events - first)
        rng = np.random.default_rng(first + 7)
        texts = _Texts(rng)
        draws = {
            "popular": rng.random((3, _BLOCK)),
            "auction": rng.integers(0, _OPEN_AUCTIONS + 10, _BLOCK).tolist(),
            "person": rng.integers(0, _ACTIVE_PEOPLE + 10, _BLOCK).tolist(),
            "channel": rng.integers(0, _CHANNELS, _BLOCK).tolist(),
            "price": np.round(10 ** (rng.random(_BLOCK) * 6) * 100).astype("int64").tolist(),
        }
        hot_auction, hot_bidder, hot_channel = (
            (draws["popular"][row] < share).tolist() for row, share in enumerate((0.5, 0.75, 0.5))
        )
        for i in range(size):
            n = first + i
            group, place = divmod(n, _GROUP)
            if place == 0:
                yield _person(n, group, draws["channel"][i], texts)
                continue
            if place <= _AUCTIONS:
                yield _auction(n, group * _AUCTIONS + place - 1, group, draws["price"][i], draws["channel"][i], texts)
                continue
            newest = group * _AUCTIONS + _AUCTIONS - 1
            if hot_auction[i]:
                auction = newest // 100 * 100
            else:
                auction = max(newest - _OPEN_AUCTIONS, 0) + draws["auction"][i] % (min(newest, _OPEN_AUCTIONS) + 1)
            if hot_bidder[i]:
                bidder = group // 100 * 100 + 1
            else:
                bidder = max(group - _ACTIVE_PEOPLE, 0) + draws["person"][i] % (min(group, _ACTIVE_PEOPLE) + 1)
            channel, url = hot[draws["channel"][i] % 4] if hot_channel[i] else channels[draws["channel"][i]]
            yield (
                f'{{"event_type":2,"person":null,"auction":null,"bid":{{"auction":{_FIRST_ID + auction},'
                f'"bidder":{_FIRST_ID + bidder},"price":{draws["price"][i]},"channel":"{channel}","url":"{url}",'
                f'"dateTime":"{_time_text(n)}","extra":"{texts.cut(20 + i % 30)}"}}}}'
            ).encode()


def _person(n: int, person: int, draw: int, texts: _Texts) -> bytes:
    row = {
        "id": _FIRST_ID + person,
        "name": f"{_NAMES[draw % len(_NAMES)]} {texts.cut(6)}",
        "emailAddress": f"{texts.cut(7)}@{texts.cut(5)}.com",
        "creditCard": " ".join(f"{(draw * p) % 10_000:04d}" for p in (7, 11, 13, 17)),
        "city": _CITIES[draw % len(_CITIES)],
        "state": _STATES[draw % len(_STATES)],
        "dateTime": _time_text(n),
        "extra": texts.cut(60),
    }
    return json.dumps({"event_type": 0, "person": row, "auction": None, "bid": None}, separators=(",", ":")).encode()


def _auction(n: int, auction: int, group: int, price: int, draw: int, texts: _Texts) -> bytes:
    row = {
        "id": _FIRST_ID + auction,
        "itemName": texts.cut(20),
        "description": texts.cut(100),
        "initialBid": price,
        "reserve": price + draw,
        "dateTime": _time_text(n),
        "expires": _time_text(n + 10_000 + draw),
        "seller": _FIRST_ID + max(group - draw % 100, 0),
        "category": 10 + draw % 5,
        "extra": texts.cut(250),
    }
    return json.dumps({"event_type": 1, "person": None, "auction": row, "bid": None}, separators=(",", ":")).encode()


def side_rows() -> Iterator[str]:
    """Yields the rows of the side table of q13 as JSON."""
    for key in range(SIDE_KEYS):
        yield f'{{"key":{key},"value":"side-{key * 7919 % SIDE_KEYS}"}}'
