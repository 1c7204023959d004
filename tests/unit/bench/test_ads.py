"""The events of the benchmarks beside peers: what is said of their counts is what is in them."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def ads() -> Any:
    path = Path(__file__).parents[2] / "bench" / "peers" / "ads.py"
    spec = importlib.util.spec_from_file_location("ads", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("events", [1, 1000, 250_001])  # the last of them ends within a block
def test_the_known_counts_are_those_of_the_events(ads: Any, events: int) -> None:
    counted: Counter[tuple[str, int]] = Counter()
    read = [json.loads(message) for message in ads.messages(events)]
    assert len(read) == events
    for event in read:
        if event["event_type"] == "view":
            window = event["event_time"] // 10_000 * 10_000
            counted[ads.CAMPAIGN_OF[event["ad_id"]], window] += 1
    assert ads.views(events) == dict(counted)


def test_events_are_in_the_order_of_their_time_and_do_not_depend_on_how_many_there_are(ads: Any) -> None:
    few, many = list(ads.messages(1000)), list(ads.messages(110_000))
    assert many[:1000] == few
    times = [json.loads(message)["event_time"] for message in many]
    assert times == sorted(times)
    assert len({json.loads(message)["user_id"] for message in many}) == 100_000
