"""A job for faults of the checkpoint's store: generated events, counted by key, into JSON lines.

Run as: python job.py SETTINGS LOGS. SETTINGS is a JSON file: options of the job, how many events, where the lines go.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.connectors import DataGeneratorSource, JsonLinesSink
from penstock.errors import PenstockError

KEYS = 50


class Count(ps.KeyedProcessFunction):
    """How often a key has come."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", ps.Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield [ctx.get_current_key(), count]


def expected(events: int) -> list[str]:
    """All lines, sorted."""
    return sorted(f"[{key},{n + 1}]" for key in range(KEYS) for n in range(len(range(key, events, KEYS))))


def main() -> None:
    told = json.loads(Path(sys.argv[1]).read_text())
    env = ps.StreamExecutionEnvironment(ps.Configuration(told["options"])).set_parallelism(2)
    numbers = env.from_source(
        DataGeneratorSource(lambda n: n, told["events"]), ps.WatermarkStrategy.no_watermarks(), "numbers"
    )
    counts = numbers.key_by(lambda n: n % KEYS).process(Count()).uid("count")
    counts.sink_to(JsonLinesSink(told["lines"])).uid("lines")
    try:
        env.execute("faults")
    except PenstockError as error:
        print(f"FAILED [{error.code}] {error.text}", flush=True)
        sys.exit(1)
    print("DONE", flush=True)


if __name__ == "__main__":
    main()
