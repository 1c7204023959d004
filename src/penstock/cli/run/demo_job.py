"""The job of the demo: impressions and earnings of ad campaigns per minute, with late impressions in a side output.

Level 1 counts the impressions of a campaign per minute of event time; a timer at the end of the minute emits the count. A
late impression, whose minute is over, goes to a side output. Level 2 sums up both per campaign.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from penstock import (
    DataStream,
    Duration,
    KeyedProcessFunction,
    MapStateDescriptor,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from penstock.connectors import DataGeneratorSource

CAMPAIGNS = (
    "Aurora Shoes",
    "Bluebird Air",
    "Cedar Bank",
    "Dune Coffee",
    "Ember Games",
    "Fjord Phones",
    "Grove Tea",
    "Halo Cars",
)
BEGIN = 1_767_258_000_000  # 2026-01-01 09:00 UTC
MINUTE = 60_000
LENGTH = 60 * MINUTE  # duration of the generated events
LATE = OutputTag("late")


class Impression(NamedTuple):
    """An ad impression, with its earnings in thousandths of a cent."""

    campaign: str
    time: int
    earned: int


class Total(NamedTuple):
    """The totals of a campaign: for one minute, for one late impression, or for all events so far."""

    campaign: str
    shown: int = 0
    earned: int = 0
    best_minute: tuple[int, int] = (0, 0)  # number of impressions, and the minute
    late: int = 0


class Impressions:
    """Generates `count` impressions over one hour. One in 200 is minutes late, the others up to 5 s."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __call__(self, i: int) -> Impression:
        mixed = (i * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % 2**64
        mixed = (mixed ^ mixed >> 31) * 0xD6E8FEB86659FD93 % 2**64
        # The minimum of two random numbers is small more often, so campaign 0 has the largest share.
        campaign = min(mixed & 7, mixed >> 3 & 7)
        delay = 120_000 + (mixed >> 24) % 180_000 if (mixed >> 8) % 200 == 0 else (mixed >> 24) % 5_000
        return Impression(CAMPAIGNS[campaign], BEGIN + i * LENGTH // self._count - delay, 50 + (mixed >> 44) % 400)


class PerMinute(KeyedProcessFunction):
    """Counts the impressions of a campaign per minute. Emits the count when the watermark has passed the minute."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._minutes = runtime_context.get_map_state(MapStateDescriptor("minutes", int, tuple[int, int]))

    def process_element(self, value: Impression, ctx: Any) -> Iterable[Any]:
        minute = value.time // MINUTE * MINUTE
        timers = ctx.timer_service()
        if minute + MINUTE - 1 <= timers.current_watermark():
            yield LATE, value
            return
        shown, earned = self._minutes.get(minute) or (0, 0)
        self._minutes.put(minute, (shown + 1, earned + value.earned))
        if not shown:
            timers.register_event_time_timer(minute + MINUTE - 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Total]:
        minute = timestamp - MINUTE + 1
        shown, earned = self._minutes.get(minute) or (0, 0)
        self._minutes.remove(minute)
        yield Total(ctx.get_current_key(), shown, earned, (shown, minute))


def add(a: Total, b: Total) -> Total:
    """The sum of two totals of a campaign.

    >>> add(Total("Grove Tea", 2, 10, (2, 0)), Total("Grove Tea", late=1))
    Total(campaign='Grove Tea', shown=2, earned=10, best_minute=(2, 0), late=1)
    """
    best = max(a.best_minute, b.best_minute, key=lambda m: (m[0], -m[1]))
    return Total(a.campaign, a.shown + b.shown, a.earned + b.earned, best, a.late + b.late)


def campaign_totals(
    env: StreamExecutionEnvironment, events: int, records_per_batch: int | None = None
) -> DataStream[Total]:
    """The stream of the current totals of each campaign, with an element for each change."""
    in_time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).with_timestamp_assigner(
        lambda v, _: v.time
    )
    source = DataGeneratorSource(Impressions(events), events, records_per_batch=records_per_batch)
    impressions = env.from_source(source, in_time, "impressions")
    minutes = impressions.key_by(lambda v: v.campaign).process(PerMinute()).name("per minute").uid("per-minute")
    late = minutes.get_side_output(LATE).map(lambda v: Total(v.campaign, late=1))
    return minutes.union(late).key_by(lambda total: total.campaign).reduce(add).name("totals").uid("totals")
