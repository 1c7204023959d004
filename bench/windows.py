"""Windows of named aggregates: Penstock compared with Spark's windows and with a user-defined aggregate.

All contenders read the same JSON lines and discard their output. The result of a contender is events per second of its batches
after the first one (which starts workers), so the start of a query is not included.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure
import msgspec
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import penstock as ps
from penstock.connectors import DiscardingSink, json_lines
from penstock.functions import AggregateFunction
from penstock.functions.named_aggregates import count
from penstock.spark.session.session import configure_session, get_session
from penstock.windows import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

CAMPAIGNS = 100
USERS = 10_000
SCHEMA = "campaign string, user string, ts bigint"
EVENTS_PER_MS = 4  # so a batch of 800,000 events spans 200 s


class Event(msgspec.Struct, gc=False):
    campaign: str
    user: str
    ts: int


def write_events(folder: Path, files: int, per_file: int) -> None:
    """Writes events of many users, each active for some time and then inactive. Events are out of order by up to a second."""
    rng = random.Random(7)
    folder.mkdir(parents=True)
    number = 0
    for file in range(files):
        with open(folder / f"{file:04d}.json", "w") as out:
            for _ in range(per_file):
                number += 1
                ts = 1_700_000_000_000 + number // EVENTS_PER_MS - rng.randrange(1000)
                active = (ts // 60_000) * 37 % 10  # a tenth of the users at a time, so that sessions end
                user = active * (USERS // 10) + rng.randrange(USERS // 10)
                campaign = rng.randrange(CAMPAIGNS)
                out.write(f'{{"campaign":"campaign-{campaign:03d}","user":"user-{user:05d}","ts":{ts}}}\n')


class Count(AggregateFunction):
    """The same as count(), as a user-defined aggregate."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def tumbling(events: Any) -> Any:
    return events.key_by(lambda e: e.campaign).window(TumblingEventTimeWindows.of(ps.Duration.of_seconds(10)))


def early(events: Any) -> Any:
    """Emits the current value every second of processing time, similar to Spark's update mode."""
    return tumbling(events).trigger(ContinuousProcessingTimeTrigger.of(ps.Duration.of_seconds(1)))


def early_by_event_time(events: Any) -> Any:
    """Emits the value at every second of event time, and at the end. Spark has no equivalent."""
    return tumbling(events).trigger(ContinuousEventTimeTrigger.of(ps.Duration.of_seconds(1)))


def sliding(events: Any) -> Any:
    size, slide = ps.Duration.of_seconds(60), ps.Duration.of_seconds(5)
    return events.key_by(lambda e: e.campaign).window(SlidingEventTimeWindows.of(size, slide))


def session(events: Any) -> Any:
    return events.key_by(lambda e: e.user).window(EventTimeSessionWindows.with_gap(ps.Duration.of_seconds(30)))


def penstock_rate(
    folder: Path, windows: Callable[[Any], Any], aggregate: Any, scratch: Path, bytes_per_batch: int
) -> float:
    env = ps.StreamExecutionEnvironment(
        ps.Configuration({"execution.checkpointing.dir": str(scratch), "state.local.dir": str(scratch / "state")})
    )
    source = json_lines(folder, Event, bytes_per_batch=bytes_per_batch)
    delay = ps.Duration.of_seconds(1)
    strategy = ps.WatermarkStrategy.for_bounded_out_of_orderness(delay).with_timestamp_assigner(lambda e, _: e.ts)
    windows(env.from_source(source, strategy)).aggregate(aggregate).sink_to(DiscardingSink())
    result = env.execute()
    shutil.rmtree(scratch, ignore_errors=True)
    return measure.steady_rate(result.batches)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=5, help="batches")
    arguments.add_argument("--per-file", type=int, default=800_000, help="events in each")
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument(
        "--only", default="", help="contenders whose names match this regular expression; no results are written"
    )
    options = arguments.parse_args()
    root = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    folder, few = root / "events", root / "few"
    write_events(folder, options.files, options.per_file)
    few.mkdir()
    for file in sorted(folder.iterdir())[:2]:  # for slow contenders
        os.link(file, few / file.name)
    size = max(f.stat().st_size for f in folder.iterdir())
    spark: SparkSession = get_session(ps.Configuration({"spark.master": "local[2]"}))
    configure_session(spark, ps.Configuration(), 2)
    # Spark reads the file of a batch with one task per split. This setting uses both cores.
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(size // 2 + 1))

    def penstock(windows: Callable[[Any], Any], aggregate: Any) -> Callable[[], float]:
        slow = isinstance(aggregate, Count)
        return lambda: penstock_rate(few if slow else folder, windows, aggregate, root / "penstock", size)

    def native(by: str, window: Any, mode: str = "append") -> Callable[[], float]:
        def run() -> float:
            rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))
            events = rows.select(by, F.timestamp_millis("ts").alias("at")).withWatermark("at", "1 second")
            return measure.spark_rate(events.groupBy(by, window).count(), root / "spark", mode)

        return run

    contenders = {
        "tumbling, early firing: named": penstock(early, count()),
        "tumbling, early firing: Spark": native("campaign", F.window("at", "10 seconds"), "update"),
        "tumbling, early firing: Python": penstock(early, Count()),
        "tumbling, early by event time: named": penstock(early_by_event_time, count()),
        "tumbling, early by event time: Python": penstock(early_by_event_time, Count()),
        "tumbling: named": penstock(tumbling, count()),
        "tumbling: Spark": native("campaign", F.window("at", "10 seconds")),
        "tumbling: Python": penstock(tumbling, Count()),
        "sliding: named": penstock(sliding, count()),
        "sliding: Spark": native("campaign", F.window("at", "60 seconds", "5 seconds")),
        "sliding: Python": penstock(sliding, Count()),
        "session: named": penstock(session, count()),
        "session: Spark": native("user", F.session_window("at", "30 seconds")),
        "session: Python": penstock(session, Count()),
    }
    contenders = {name: run for name, run in contenders.items() if re.search(options.only, name)}
    measure.alternate({name: run for name, run in contenders.items() if "Python" not in name}, 0, warm_up=1)
    found = measure.alternate(contenders, options.repeats)
    shutil.rmtree(root, ignore_errors=True)
    rates = measure.medians(found)
    if options.only:
        return 0
    measure.table("windows", ("contender", "median events/s", "runs"), [(n, rates[n], v) for n, v in found.items()])
    measure.bars("windows", "Windows of named aggregates, two cores", rates, "events/s")
    targets = {
        f"{kind}: named / Spark": (rates[f"{kind}: named"] / rates[f"{kind}: Spark"], 1.0)
        for kind in ("tumbling, early firing", "tumbling", "sliding", "session")
    }
    cost = "cost of sliding / cost of tumbling"
    targets[cost] = (rates["tumbling: named"] / rates["sliding: named"], 1.5)
    return measure.finish("windows", rates, targets, lower_is_better=(cost,))


if __name__ == "__main__":
    sys.exit(main())
