"""Runs jobs with default folders that leave files of all kinds: one ends, one runs on with state, files and a savepoint.

Run as: python job.py INPUT OUTPUT [CHECKPOINT TO RESUME]. Without INPUT only the first job runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import penstock as ps
from penstock.connectors import JsonLinesSink, json_lines


class Count(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", ps.Types.LONG()))

    def process_element(self, value: dict[str, int], ctx: Any) -> Iterator[dict[str, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield {"n": value["n"], "count": count}


def environment(resume: str = "") -> ps.StreamExecutionEnvironment:
    settings = {"spark.master": "local[2]", "spark.driver.memory": "1g", "spark.jvm-options": "-XX:TieredStopAtLevel=1"}
    settings |= {"execution.resume": resume} if resume else {}
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings))
    env.set_parallelism(2)
    return env


def run_to_the_end() -> None:
    env = environment()
    numbers = env.from_collection([{"n": n} for n in range(10)])
    counted = numbers.key_by(lambda row: row["n"] % 3).process(Count())
    results = sorted(row["count"] for row in counted.execute_and_collect("ends"))
    assert results == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4], results
    print("ENDED", flush=True)


def run_on(folder: str, out: str, resume: str) -> None:
    env = environment(resume)
    rows = env.from_source(json_lines(folder, bounded=False, bytes_per_batch=200))
    counted = rows.key_by(lambda row: row["n"] % 3).process(Count())
    counted.sink_to(JsonLinesSink(out)).uid("sink")
    client = env.execute_async("runs on")
    if not resume:
        print("SAVEPOINT", client.trigger_savepoint().result(), flush=True)
    client.get_job_execution_result().result()


if __name__ == "__main__":
    if len(sys.argv) < 4:
        run_to_the_end()
    if len(sys.argv) > 1:
        run_on(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "")
