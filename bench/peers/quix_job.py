"""Jobs Y and P on Quix Streams: two processes of one consumer group, state in RocksDB with a changelog, its defaults.

The topic has no keys, so Quix sends everything through a topic of its own to bring keys together. The run ends when all that
was read has come through it, or with the time box.
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


class Seen:
    """What one worker has done so far."""

    read = sent = came = emitted = 0
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

    def read(value):
        Seen.read += 1

    def sent(value):
        Seen.sent += 1

    def came(value):
        Seen.came += 1
        Seen.last = time.time()

    def emitted(value):
        Seen.emitted += 1

    events = app.dataframe(topic).update(read)
    if options.job == "Y":
        events = events.filter(lambda e: e["event_type"] == "view")
        events = events.apply(lambda e: {"campaign": CAMPAIGN_OF[e["ad_id"]], "event_time": e["event_time"]})
        keyed = events.update(sent).group_by("campaign").update(came)
        windows = keyed.tumbling_window(10_000, grace_ms=10_000, on_late=lambda *args, **named: False)
        windows.count().final(closing_strategy="key").update(emitted)
    else:

        def process(event, state):
            count, last, at = state.get("count", 0) + 1, state.get("last"), event["event_time"]
            state.set("count", count)
            state.set("last", at)
            return {"user_id": event["user_id"], "count": count, "gap": None if last is None else at - last}

        events.update(sent).group_by("user_id").update(came).apply(process, stateful=True).update(emitted)
    threading.Thread(target=tell, args=(os.path.join(options.scratch, f"worker-{number}.json"),), daemon=True).start()
    app.run()


def tell(path):
    while True:
        with open(path + ".new", "w") as out:
            json.dump([Seen.read, Seen.sent, Seen.came, Seen.emitted, Seen.last], out)
        os.replace(path + ".new", path)
        time.sleep(0.5)


def totals(options):
    told = []
    for number in range(WORKERS):
        path = os.path.join(options.scratch, f"worker-{number}.json")
        if os.path.exists(path):
            told.append(json.loads(Path(path).read_text()))
    return [sum(column) for column in zip(*(t[:4] for t in told), strict=True)] or [0] * 4, max(
        (t[4] for t in told), default=0
    )


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
        (read, sent, came, emitted), last = totals(options)
        if read >= options.events and came >= sent:
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
    done = options.events if read >= options.events and came >= sent else int(read * came / max(sent, 1))
    forget_topics(options.bootstrap, group)
    run.end(done, seconds=max(last - began, 0.001), emitted=emitted)


def forget_topics(bootstrap, group):
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": bootstrap})
    own = [name for name in admin.list_topics(timeout=10).topics if group in name]
    for deleted in admin.delete_topics(own).values() if own else ():
        deleted.result()


if __name__ == "__main__":
    main()
