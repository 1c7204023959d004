"""Jobs Y and P on Pathway, with two threads.

Job Y is a bounded read (mode static), the faster mode. Job P is a stream, because a bounded read produces only one output per
user. As a stream it produces one output per user and commit, each second, although the job requires one output per event.
"""

from __future__ import annotations

import os
import time

os.environ.setdefault("PATHWAY_THREADS", "2")
os.environ.setdefault("PATHWAY_TELEMETRY_SERVER", "")

import pathway as pw
from job import Run, arguments

CAMPAIGN_OF = {f"ad-{ad}": f"camp-{ad // 10}" for ad in range(1000)}


class Ad(pw.Schema):
    user_id: str
    page_id: str
    ad_id: str
    ad_type: str
    event_type: str
    event_time: int
    ip_address: str


def job_y(events):
    campaigns = pw.debug.table_from_rows(pw.schema_from_types(ad_id=str, campaign=str), list(CAMPAIGN_OF.items()))
    views = events.filter(pw.this.event_type == "view")
    joined = views.asof_now_join(campaigns, pw.left.ad_id == pw.right.ad_id)
    pairs = joined.select(campaign=pw.right.campaign, event_time=pw.left.event_time)
    windows = pairs.windowby(
        pw.this.event_time,
        window=pw.temporal.tumbling(duration=10_000),
        instance=pw.this.campaign,
        behavior=pw.temporal.exactly_once_behavior(shift=10_000),
    )
    return windows.reduce(campaign=pw.this._pw_instance, start=pw.this._pw_window_start, count=pw.reducers.count())


@pw.reducers.stateful_single
def process(state, at):
    if state is None:
        return (1, at, None)
    return (state[0] + 1, at, at - state[1])


class EndOfRun:
    """Ends a streaming run when all events have been counted, and all output up to that time has been received."""

    def __init__(self, run, events):
        self._run = run
        self._events = events
        self._counted_at = None
        self._seen = self._output_at = 0
        self.emitted = 0

    def on_user(self, key, row, time, is_addition):
        self.emitted += is_addition

    def on_user_time_end(self, time):
        self._output_at = time
        self._end_if_done()

    def on_count(self, key, row, time, is_addition):
        if is_addition:
            self._seen = row["events"]

    def on_count_time_end(self, time):
        if self._seen >= self._events and self._counted_at is None:
            self._counted_at = time
        self._end_if_done()

    def _end_if_done(self):
        if self._counted_at is not None and self._output_at >= self._counted_at:
            self._run.end(self._events, emitted=self.emitted)


def main():
    options = arguments()
    run = Run()
    events = pw.io.kafka.read(
        {
            "bootstrap.servers": options.bootstrap,
            "group.id": f"pathway-{os.getpid()}-{int(time.time())}",
            "auto.offset.reset": "earliest",
            "session.timeout.ms": "6000",
        },
        topic=options.topic,
        format="json",
        schema=Ad,
        mode="static" if options.job == "Y" else "streaming",
        autocommit_duration_ms=1000,
    )
    counts: dict[tuple[str, int], int] = {}

    def on_window(key, row, time, is_addition):
        if is_addition:
            counts[row["campaign"], row["start"]] = row["count"]

    if options.job == "Y":
        pw.io.subscribe(job_y(events), on_change=on_window)
    else:
        end = EndOfRun(run, options.events)
        users = events.groupby(pw.this.user_id).reduce(pw.this.user_id, state=process(pw.this.event_time))
        pw.io.subscribe(users, on_change=end.on_user, on_time_end=end.on_user_time_end)
        total = events.reduce(events=pw.reducers.count())
        pw.io.subscribe(total, on_change=end.on_count, on_time_end=end.on_count_time_end)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    run.end(options.events, counts=[(*window, count) for window, count in counts.items()])


if __name__ == "__main__":
    main()
