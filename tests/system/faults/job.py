"""A job for tests of storage failures: it counts generated events by key and writes JSON lines.

Run as: python job.py SETTINGS LOGS. SETTINGS is a JSON file with the options of the job, the number of
events and keys, the bytes of state per key, and the folder for the lines.
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
    """Counts the events of a key, and stores a value of a given size per key."""

    def __init__(self, state_size: int) -> None:
        self._state_size = state_size

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", ps.Types.LONG()))
        self.ballast = runtime_context.get_state(ps.ValueStateDescriptor("ballast", ps.Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count == 1 and self._state_size:
            self.ballast.update(random.Random(value).randbytes(self._state_size))
        yield [ctx.get_current_key(), count]


def expected(events: int, keys: int = KEYS) -> list[str]:
    """The expected lines, sorted."""
    return sorted(f"[{key},{n + 1}]" for key in range(keys) for n in range(len(range(key, events, keys))))


def main() -> None:
    settings = json.loads(Path(sys.argv[1]).read_text())
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings["options"])).set_parallelism(2)
    numbers = env.from_source(
        DataGeneratorSource(lambda n: n, settings["events"]), ps.WatermarkStrategy.no_watermarks(), "numbers"
    )
    keys = settings["keys"]
    counts = numbers.key_by(lambda n: n % keys).process(Count(settings["state_size"])).uid("count")
    counts.sink_to(JsonLinesSink(settings["lines"])).uid("lines")
    try:
        result = env.execute("faults")
    except PenstockError as error:
        print(f"FAILED [{error.code}] {error.text}", flush=True)
        sys.exit(1)
    print(f"BATCHES {json.dumps(result.batches)}")
    print("DONE", flush=True)


if __name__ == "__main__":
    main()
