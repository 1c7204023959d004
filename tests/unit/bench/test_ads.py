"""The events of the benchmarks beside peers: what is said of their counts is what is in them."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from typing import Any

import pytest

from tests.locations import ROOT


@pytest.fixture(scope="module")
def ads() -> Any:
    path = ROOT / "bench" / "peers" / "ads.py"
    spec = importlib.util.spec_from_file_location("ads", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("events", [1, 1000, 250_001])  # the last number ends within a block
def test_expected_counts_equal_the_counts_of_the_events(ads: Any, events: int) -> None:
    counted: Counter[tuple[str, int]] = Counter()
    read = [json.loads(message) for message in ads.messages(events)]
    assert len(read) == events
    for event in read:
        if event["event_type"] == "view":
            window = event["event_time"] // 10_000 * 10_000
            counted[ads.CAMPAIGN_OF[event["ad_id"]], window] += 1
    assert ads.expected_counts(events) == dict(counted)


def test_events_are_ordered_by_time_and_do_not_depend_on_their_number(ads: Any) -> None:
    few, many = list(ads.messages(1000)), list(ads.messages(110_000))
    assert many[:1000] == few
    times = [json.loads(message)["event_time"] for message in many]
    assert times == sorted(times)
    assert len({json.loads(message)["user_id"] for message in many}) == 100_000
