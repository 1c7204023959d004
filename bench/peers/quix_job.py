"""Jobs Y and P on Quix Streams: two processes of one consumer group, state in RocksDB with a changelog, default settings.

The topic has no keys, so Quix repartitions all events by key through an internal topic. The run ends when all events have been
read from that topic, or when the time box is over.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from job import Run, arguments

WORKERS = 2
CAMPAIGN_OF = {f"ad-{ad}": f"camp-{ad // 10}" for ad in range(1000)}


class Progress:
    """Counters of one worker. `repartitioned` counts events from the internal topic, and `last` is the time of the last one."""

    read = sent = repartitioned = emitted = 0
    last = 0.0


def work(options, group, number):
    from quixstreams import Application

    app = Application(
        broker_address=options.bootstrap,
        consumer_group=group,
        auto_offset_reset="earliest",
        state_dir=os.path.join(options.scratch, f"state-{number}"),
        loglevel="WARNING",
    )
    topic = app.topic(
        options.topic,
        value_deserializer="json",
        timestamp_extractor=lambda value, headers, at, kind: value["event_time"],
    )

    def count_read(value):
        Progress.read += 1

    def count_sent(value):
        Progress.sent += 1

    def count_repartitioned(value):
        Progress.repartitioned += 1
        Progress.last = time.time()

    def count_emitted(value):
        Progress.emitted += 1

    events = app.dataframe(topic).update(count_read)
    if options.job == "Y":
        events = events.filter(lambda e: e["event_type"] == "view")
        events = events.apply(lambda e: {"campaign": CAMPAIGN_OF[e["ad_id"]], "event_time": e["event_time"]})
        keyed = events.update(count_sent).group_by("campaign").update(count_repartitioned)
        windows = keyed.tumbling_window(10_000, grace_ms=10_000, on_late=lambda *args, **named: False)
        windows.count().final(closing_strategy="key").update(count_emitted)
    else:

        def process(event, state):
            count, last, at = state.get("count", 0) + 1, state.get("last"), event["event_time"]
            state.set("count", count)
            state.set("last", at)
            return {"user_id": event["user_id"], "count": count, "gap": None if last is None else at - last}

        keyed = events.update(count_sent).group_by("user_id").update(count_repartitioned)
        keyed.apply(process, stateful=True).update(count_emitted)
    path = os.path.join(options.scratch, f"worker-{number}.json")
    threading.Thread(target=write_progress, args=(path,), daemon=True).start()
    app.run()


def write_progress(path):
    while True:
        counters = [Progress.read, Progress.sent, Progress.repartitioned, Progress.emitted, Progress.last]
        with open(path + ".new", "w") as out:
            json.dump(counters, out)
        os.replace(path + ".new", path)
        time.sleep(0.5)


def totals(options):
    counters = []
    for number in range(WORKERS):
        path = os.path.join(options.scratch, f"worker-{number}.json")
        if os.path.exists(path):
            counters.append(json.loads(Path(path).read_text()))
    sums = [sum(column) for column in zip(*(c[:4] for c in counters), strict=True)] or [0] * 4
    return sums, max((c[4] for c in counters), default=0)


def main():
    options = arguments()
    if options.mode:
        group, number = options.mode.split(",")
        work(options, group, int(number))
        return
    group = f"quix-{os.getpid()}-{int(time.time())}"
    run, began = Run(), time.time()
    workers = [
        subprocess.Popen([sys.executable, *sys.argv, "--mode", f"{group},{number}"]) for number in range(WORKERS)
    ]
    while True:
        time.sleep(0.5)
        (read, sent, repartitioned, emitted), last = totals(options)
        if read >= options.events and repartitioned >= sent:
            break
        if run.seconds() > options.time_box:
            break
        if any(worker.poll() is not None for worker in workers):
            sys.exit("a worker ended")
    for worker in workers:
        worker.send_signal(signal.SIGTERM)
    for worker in workers:
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:
            worker.kill()
    complete = read >= options.events and repartitioned >= sent
    processed = options.events if complete else int(read * repartitioned / max(sent, 1))
    delete_topics(options.bootstrap, group)
    run.end(processed, seconds=max(last - began, 0.001), emitted=emitted)


def delete_topics(bootstrap, group):
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": bootstrap})
    internal = [name for name in admin.list_topics(timeout=10).topics if group in name]
    for deletion in admin.delete_topics(internal).values() if internal else ():
        deletion.result()


if __name__ == "__main__":
    main()
