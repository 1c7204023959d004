"""Jobs Y and P on Bytewax, with two processes of one worker each, so that the workers do not share a GIL."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import bytewax.operators as op
import bytewax.operators.windowing as win
import orjson
from bytewax.connectors.kafka import KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import cluster_main
from job import Run, arguments

WORKERS = 2
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CAMPAIGN_OF = {f"ad-{ad}": f"camp-{ad // 10}" for ad in range(1000)}


class CollectingPartition(StatelessSinkPartition):
    """Counts results, and collects them if `collects` is set."""

    results = ()
    emitted = 0
    collects = False

    def write_batch(self, items):
        CollectingPartition.emitted += len(items)
        if CollectingPartition.collects:
            CollectingPartition.results += tuple(items)


class CollectingSink(DynamicSink):
    def build(self, step_id, worker_index, worker_count):
        return CollectingPartition()


def events_of(flow, options):
    source = KafkaSource([options.bootstrap], [options.topic], tail=False, batch_size=1000)
    return op.map("decode", op.input("in", flow, source), lambda message: orjson.loads(message.value))


def job_y(options):
    CollectingPartition.collects = True
    flow = Dataflow("y")
    views = op.filter("views", events_of(flow, options), lambda e: e["event_type"] == "view")
    pairs = op.map("campaign", views, lambda e: (CAMPAIGN_OF[e["ad_id"]], e["event_time"]))
    clock = win.EventClock(
        ts_getter=lambda pair: datetime.fromtimestamp(pair[1] / 1000, UTC),
        wait_for_system_duration=timedelta(seconds=10),
    )
    windows = win.TumblingWindower(length=timedelta(seconds=10), align_to=EPOCH)
    counted = win.count_window("count", pairs, clock, windows, key=lambda pair: pair[0])
    op.output("out", counted.down, CollectingSink())
    return flow


def job_p(options):
    def step(state, event):
        at = event["event_time"]
        count, gap = (1, None) if state is None else (state[0] + 1, at - state[1])
        return (count, at), (event["user_id"], count, gap)

    flow = Dataflow("p")
    keyed = op.key_on("user", events_of(flow, options), lambda e: e["user_id"])
    op.output("out", op.stateful_map("process", keyed, step), CollectingSink())
    return flow


def work(options, addresses, number):
    flow = {"Y": job_y, "P": job_p}[options.job](options)
    began = time.time()
    cluster_main(flow, addresses, number, worker_count_per_proc=1)
    counts = [(campaign, window * 10_000, count) for campaign, (window, count) in CollectingPartition.results]
    report = {"began": began, "ended": time.time(), "emitted": CollectingPartition.emitted, "counts": counts}
    Path(options.scratch, f"worker-{number}.json").write_text(json.dumps(report))


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def main():
    options = arguments()
    if options.mode:  # in a worker process: its number, and the addresses of all workers
        number, *addresses = options.mode.split(",")
        work(options, addresses, int(number))
        return
    addresses = [f"127.0.0.1:{port}" for port in free_ports(WORKERS)]
    workers = [
        subprocess.Popen([sys.executable, *sys.argv, "--mode", ",".join([str(number), *addresses])])
        for number in range(WORKERS)
    ]
    if any(worker.wait() for worker in workers):
        sys.exit("a worker failed")
    reports = [json.loads(Path(options.scratch, f"worker-{number}.json").read_text()) for number in range(WORKERS)]
    seconds = max(r["ended"] for r in reports) - min(r["began"] for r in reports)
    counts = [count for r in reports for count in r["counts"]] if options.job == "Y" else None
    Run().end(options.events, seconds=seconds, counts=counts, emitted=sum(r["emitted"] for r in reports))


if __name__ == "__main__":
    main()
