"""The jobs of the soak run. `python -m tests.system.soak.jobs NAME FOLDER` runs one of them without end."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.connectors import DataGeneratorSource, JsonLinesSink
from penstock.windows import TumblingEventTimeWindows

RATE = 500  # events per second


class CountWithTimers(ps.KeyedProcessFunction):
    """Counts the events of a key and forgets the key a minute after its last event."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self._count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))
        self._seen = runtime_context.get_map_state(ps.MapStateDescriptor("seen", int, int))

    def process_element(self, value: int, ctx: Any) -> Iterable[tuple[int, int]]:
        self._count.update((self._count.value() or 0) + 1)
        self._seen.put(value % 5, value)
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 60_000)
        if value % 100 == 0:
            yield ctx.get_current_key(), value

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        self._count.clear()
        self._seen.clear()


def timers(env: ps.StreamExecutionEnvironment, folder: Path) -> None:
    events = env.from_source(DataGeneratorSource(lambda i: i, rate=RATE))
    events.key_by(lambda i: i // 50 % 2000).process(CountWithTimers()).sink_to(JsonLinesSink(str(folder / "out")))


def windows(env: ps.StreamExecutionEnvironment, folder: Path) -> None:
    in_order = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda i, _: i * 1000 // RATE)
    events = env.from_source(DataGeneratorSource(lambda i: i, rate=RATE), in_order)
    totals = events.key_by(lambda i: i % 50).window(TumblingEventTimeWindows.of(ps.Duration.of_seconds(10)))
    totals.reduce(lambda a, b: a + b).sink_to(JsonLinesSink(str(folder / "out")))


def expiring(env: ps.StreamExecutionEnvironment, folder: Path) -> None:
    events = env.from_source(DataGeneratorSource(lambda i: i, rate=RATE))
    events.key_by(lambda i: i % 5000).process(Expiring()).sink_to(JsonLinesSink(str(folder / "out")))


class Expiring(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        descriptor = ps.ListStateDescriptor("recent", int)
        descriptor.enable_time_to_live(ps.StateTtlConfig.new_builder(ps.Time.seconds(30)).build())
        self._recent = runtime_context.get_list_state(descriptor)

    def process_element(self, value: int, ctx: Any) -> Iterable[tuple[int, int]]:
        self._recent.add(value)
        if value % 1000 == 0:
            yield value, len(list(self._recent.get()))


JOBS = {"timers": timers, "windows": windows, "expiring": expiring}


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    env = ps.StreamExecutionEnvironment.get_execution_environment()
    JOBS[name](env, folder)
    env.execute(name)


if __name__ == "__main__":
    main()
