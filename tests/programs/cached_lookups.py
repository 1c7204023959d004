"""A job for recovery tests: elements enriched by lookups whose answers are kept. Every call of the service leaves a line.

Run as: python cached_lookups.py OUT CHECKPOINT_ROOT ELEMENTS [RESUME]. Prints DONE at its end.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.connectors import DataGeneratorSource, JsonLinesSink

KEYS = 300


class Service(ps.AsyncLookup[int, str]):
    """Answers after a moment, and writes down who asked for what."""

    def __init__(self, calls: str) -> None:
        self.calls = Path(calls)

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.calls.mkdir(parents=True, exist_ok=True)
        self.log = open(self.calls / f"{os.getpid()}", "a", buffering=1)  # noqa: SIM115 - for the life of the function

    async def lookup(self, key: int) -> str:
        await asyncio.sleep(0.005)
        self.log.write(f"{key}\n")
        return f"answer {key}"

    def close(self) -> None:
        self.log.close()


def element(number: int) -> tuple[int, int]:
    """(key, number): keys come bit by bit, and each comes again and again."""
    return (number * 7919) % min(KEYS, 1 + number // 20), number


def main() -> None:
    out, root, elements = sys.argv[1], sys.argv[2], int(sys.argv[3])
    settings: dict[str, Any] = {
        "execution.checkpointing.dir": root,
        "spark.master": "local[2,2]",
        "state.local.dir": f"{root}/local",
    }
    if len(sys.argv) > 4:
        settings["execution.resume"] = sys.argv[4]
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings))
    env.set_parallelism(2)
    source = DataGeneratorSource(element, elements, records_per_batch=max(100, elements // 10))
    ps.cached_enrichment(
        env.from_source(source),
        lambda e: e[0],
        Service(f"{root}/calls"),
        ttl=ps.Time.days(1),
        timeout=ps.Time.seconds(30),
        output=lambda e, answer: {"key": e[0], "number": e[1], "answer": answer},
    ).uid("enriched").sink_to(JsonLinesSink(out))
    env.execute("cached lookups")
    print("DONE", flush=True)


if __name__ == "__main__":
    main()
