"""A batch job holds one partition of the keys of a slot in memory, and only a part of a very large key."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import NumberSequenceSource
from tests.system.spark.test_batch_mode import batch, collected

pytestmark = [pytest.mark.spark, pytest.mark.long]

COUNT = 4_000_000
MEGABYTES = 700  # all elements of a slot need about twice as much, those of the only key four times


class CountAndMemory(ps.KeyedProcessFunction):
    """Counts the elements of a key. At its end it emits the count and the peak memory of the worker, in megabytes."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(0)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield self.count.value(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@pytest.mark.parametrize("keys", [1, 20_000])
def test_a_slot_or_a_key_may_be_larger_than_memory(spark: SparkSession, tmp_path: Path, keys: int) -> None:
    env = batch(tmp_path)
    numbers = env.from_source(NumberSequenceSource(1, COUNT)).map(lambda n: (n % keys, f"{n:0200d}"))
    (found,) = collected(env, numbers.key_by(lambda v: v[0]).process(CountAndMemory()))
    assert [count for count, _ in found] == [COUNT // keys] * keys
    assert max(megabytes for _, megabytes in found) < MEGABYTES
