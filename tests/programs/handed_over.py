"""A job for recovery tests: a batch DataFrame through a stateful operator into a function that is given batches as DataFrames.

Run as: python handed_over.py OUT CHECKPOINT_ROOT EVENTS [RESUME]. In its second batch the function writes, leaves a mark and then
waits to be killed, once. Prints DONE at its end.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.connectors import ForeachBatchSink

SUM = ps.Types.ROW_NAMED(["n", "total"], [ps.Types.LONG(), ps.Types.LONG()])


class Running(ps.KeyedProcessFunction):
    """Adds up the numbers of a key."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", ps.Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        total = (self.total.value() or 0) + value.id
        self.total.update(total)
        yield ps.Row(n=value.id, total=total)


def main(out: str, root: str, events: int, resume: str = "") -> None:
    mark = Path(root, "mark")

    def write(frame: Any, batch: int) -> None:
        frame.write.mode("overwrite").parquet(f"{out}/batch={batch}")
        with Path(root, "calls").open("a") as calls:
            calls.write(f"{batch}\n")
        if batch == 1 and not mark.exists():
            mark.touch()
            time.sleep(600)

    options = {"execution.checkpointing.dir": root, "spark.master": "local[2]", "source.batch.records": events // 4}
    env = ps.StreamExecutionEnvironment.get_execution_environment(
        ps.Configuration({**options, **({"execution.resume": resume} if resume else {})})
    )
    env.set_parallelism(2)
    rows = env.spark_session().range(0 if not resume else events * 10, events if not resume else events * 10 + 1, 1, 2)
    running = env.from_dataframe(rows).key_by(lambda r: r.id % 10).process(Running(), output_type=SUM)
    running.sink_to(ForeachBatchSink(write))
    env.execute("handed over")
    print("DONE")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
