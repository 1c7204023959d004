"""A job whose functions measure and log; executors import it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock as ps

log = logging.getLogger("tests.measured")


class Lengths(ps.MapFunction[str, str]):
    """In the chain behind the source."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.lengths = runtime_context.get_metrics_group().distribution("lengths")

    def map(self, value: str) -> str:
        self.lengths.update(len(value))
        return value


class Counted(ps.KeyedProcessFunction[str, str, tuple[str, int]]):
    """Counts; fails at the word "fail" as long as a file is not there, and makes it."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        self.words = group.counter("words")
        group.gauge("last", lambda: self.words.get_count())
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

    def process_element(self, value: str, ctx: Any) -> Iterator[tuple[str, int]]:
        self.words.inc()
        log.info("word %s", value)
        if value == "fail" and not self.marker.exists():
            self.marker.write_text("failed")
            raise ValueError("as the test wants")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count
