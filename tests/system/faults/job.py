"""A job for faults of the checkpoint's store: generated events, counted by key, into JSON lines.

Run as: python job.py SETTINGS LOGS. SETTINGS is a JSON file: options of the job, how many events and keys, bytes
of state per key, where the lines go.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.connectors import DataGeneratorSource, JsonLinesSink
from penstock.errors import PenstockError

KEYS = 50


class Count(ps.KeyedProcessFunction):
    """How often a key has come; beside it something that takes room."""

    def __init__(self, room: int) -> None:
        self._room = room

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", ps.Types.LONG()))
        self.ballast = runtime_context.get_state(ps.ValueStateDescriptor("ballast", ps.Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count == 1 and self._room:
            self.ballast.update(random.Random(value).randbytes(self._room))
        yield [ctx.get_current_key(), count]


def expected(events: int, keys: int = KEYS) -> list[str]:
    """All lines, sorted."""
    return sorted(f"[{key},{n + 1}]" for key in range(keys) for n in range(len(range(key, events, keys))))


def main() -> None:
    told = json.loads(Path(sys.argv[1]).read_text())
    env = ps.StreamExecutionEnvironment(ps.Configuration(told["options"])).set_parallelism(2)
    numbers = env.from_source(
        DataGeneratorSource(lambda n: n, told["events"]), ps.WatermarkStrategy.no_watermarks(), "numbers"
    )
    keys = told["keys"]
    counts = numbers.key_by(lambda n: n % keys).process(Count(told["room"])).uid("count")
    counts.sink_to(JsonLinesSink(told["lines"])).uid("lines")
    try:
        result = env.execute("faults")
    except PenstockError as error:
        print(f"FAILED [{error.code}] {error.text}", flush=True)
        sys.exit(1)
    print(f"BATCHES {json.dumps(result.batches)}")
    print("DONE", flush=True)


if __name__ == "__main__":
    main()
