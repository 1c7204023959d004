"""Jobs Y and P on plain PySpark, and reading the topic without processing (--mode raw), the upper limit of Spark's Kafka source.

Job Y uses native functions and a native window. Job P uses a StatefulProcessor in Python (transformWithState).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from job import Run, arguments

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import StatefulProcessor

SCHEMA = "user_id string, page_id string, ad_id string, ad_type string, event_type string, event_time bigint, ip_address string"
PER_BATCH = 1_000_000
P_PER_BATCH = 50_000  # smaller, because job P is slow
P_EVENTS = 200_000


def session(options):
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", options.jars)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.local.dir", options.scratch)
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )


class Process(StatefulProcessor):
    def init(self, handle):
        self.seen = handle.getValueState("seen", "count bigint, last bigint")

    def handleInputRows(self, key, rows, timer_values):  # noqa: N802
        seen = self.seen.get()
        count, last = seen if seen is not None else (0, None)
        for row in rows:
            count, gap, last = count + 1, None if last is None else row.event_time - last, row.event_time
            yield Row(user_id=key[0], count=count, gap=gap)
        self.seen.update((count, last))

    def close(self):
        pass


def job_y(spark, ads, counts):
    campaigns = [(f"ad-{ad}", f"camp-{ad // 10}") for ad in range(1000)]
    campaign_of = F.broadcast(spark.createDataFrame(campaigns, "ad_id string, campaign string"))
    views = ads.where("event_type = 'view'").join(campaign_of, "ad_id")
    timed = views.select("campaign", F.timestamp_millis("event_time").alias("at")).withWatermark("at", "10 seconds")
    counted = timed.groupBy("campaign", F.window("at", "10 seconds")).count()

    def collect(frame, batch):
        for row in frame.select("campaign", F.unix_millis("window.start"), "count").collect():
            counts[row[0], row[1]] = row[2]

    return counted.writeStream.outputMode("update").foreachBatch(collect)


def main():
    options = arguments()
    spark = session(options)
    per_batch = P_PER_BATCH if options.job == "P" and options.mode != "raw" else PER_BATCH
    events = min(options.events, P_EVENTS) if per_batch == P_PER_BATCH else options.events
    source = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", options.bootstrap)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", per_batch)
    )
    run = Run()
    values = source.option("subscribe", options.topic).load().select("value")
    ads = values.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("ad")).select("ad.*")
    counts: dict[tuple[str, int], int] = {}
    if options.mode == "raw":
        writer = values.writeStream.format("noop")
    elif options.job == "Y":
        writer = job_y(spark, ads, counts)
    else:
        users = ads.select("user_id", "event_time").groupBy("user_id")
        output = "user_id string, count bigint, gap bigint"
        processed = users.transformWithState(Process(), output, "Append", "None")
        writer = processed.writeStream.format("noop").outputMode("append")
    query = (
        writer.option("checkpointLocation", str(Path(options.scratch, "checkpoint"))).trigger(availableNow=True).start()
    )
    done = 0
    while query.isActive and not query.awaitTermination(1):
        done = sum(p["numInputRows"] for p in query.recentProgress)
        if done >= events < options.events:  # a slow job processes only a part of the topic
            break
    seconds = run.seconds()
    if query.exception() is not None:
        sys.exit(str(query.exception()))
    batches = [
        (p["numInputRows"], p["durationMs"]["triggerExecution"]) for p in query.recentProgress if p["numInputRows"]
    ]
    result = [(*window, count) for window, count in counts.items()] if counts else None
    run.end(sum(read for read, _ in batches), seconds=seconds, counts=result, batches=batches)


if __name__ == "__main__":
    main()
