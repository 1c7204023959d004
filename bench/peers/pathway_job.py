"""Jobs Y and P on Pathway, over a bounded read (mode static: the faster of its modes), with two threads."""

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
        mode="static",
    )
    emitted = 0
    counts: dict[tuple[str, int], int] = {}

    def on_count(key, row, time, is_addition):
        nonlocal emitted
        emitted += 1
        if is_addition:
            counts[row["campaign"], row["start"]] = row["count"]

    def on_user(key, row, time, is_addition):
        nonlocal emitted
        emitted += is_addition

    if options.job == "Y":
        pw.io.subscribe(job_y(events), on_change=on_count)
    else:
        users = events.groupby(pw.this.user_id).reduce(pw.this.user_id, state=process(pw.this.event_time))
        pw.io.subscribe(users, on_change=on_user)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    found = [(*place, count) for place, count in counts.items()] if options.job == "Y" else None
    run.end(options.events, counts=found, emitted=emitted)


if __name__ == "__main__":
    main()
