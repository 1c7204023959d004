"""The demo job in the harness, compared with a plain calculation."""

from __future__ import annotations

import pytest

from penstock import StreamExecutionEnvironment
from penstock.cli.run.demo_job import MINUTE, Impressions, Total, add, campaign_totals
from penstock.testing import Harness

EVENTS = 5000


def expected(events: int) -> dict[str, Total]:
    """All impressions in order, with the watermark of time-rules 1.3 (highest time so far, less 5 s and 1 ms)."""
    generate = Impressions(events)
    minutes: dict[tuple[str, int], Total] = {}
    late: list[Total] = []
    watermark = -(2**63)
    for i in range(events):
        impression = generate(i)
        minute = impression.time // MINUTE * MINUTE
        if minute + MINUTE - 1 <= watermark:
            late.append(Total(impression.campaign, late=1))
        else:
            key = (impression.campaign, minute)
            before = minutes.get(key, Total(impression.campaign))
            shown = before.shown + 1
            minutes[key] = Total(impression.campaign, shown, before.earned + impression.earned, (shown, minute))
        watermark = max(watermark, impression.time - 5001)
    totals: dict[str, Total] = {}
    for total in [*minutes.values(), *late]:
        totals[total.campaign] = add(totals[total.campaign], total) if total.campaign in totals else total
    return totals


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("records_per_batch", [500, EVENTS])
def test_totals(parallelism: int, records_per_batch: int) -> None:
    env = StreamExecutionEnvironment()
    harness = Harness(env, parallelism=parallelism)
    out = harness.collect(campaign_totals(env, EVENTS, records_per_batch))
    harness.run()
    assert {total.campaign: total for total in out} == expected(EVENTS)


def test_a_few_impressions_are_late() -> None:
    totals = expected(EVENTS).values()
    late, shown = sum(t.late for t in totals), sum(t.shown for t in totals)
    assert late + shown == EVENTS
    assert 0 < late < EVENTS / 100
