"""A job for recovery tests: generated events through three chained stateful operators into JSON lines.

Run as: python three_operators.py OUT CHECKPOINT_ROOT EVENTS [RESUME]. Prints DONE at its end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import penstock as ps
from penstock.connectors import DataGeneratorSource, JsonLinesSink

USERS = 2_000


def event(number: int) -> tuple[str, int, int]:
    """(user, amount, time): the same for the same number, a little out of order."""
    scrambled = (number * 2654435761) % (1 << 32)
    return f"user-{scrambled % USERS}", scrambled % 97, number * 10 - scrambled % 40


class Running(ps.KeyedProcessFunction):
    """Counts and sums of a user."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", ps.Types.LONG()))
        self.seen = runtime_context.get_map_state(ps.MapStateDescriptor("seen", ps.Types.LONG(), ps.Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        user, amount, time = value
        total = (self.total.value() or 0) + amount
        self.total.update(total)
        self.seen.put(amount % 7, (self.seen.get(amount % 7) or 0) + 1)
        yield user, total, time


class Sessions(ps.KeyedProcessFunction):
    """Keeps what a group of users did, and reports it when a timer says that a second of event time is over."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.recent = runtime_context.get_list_state(ps.ListStateDescriptor("recent", ps.Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.recent.add(value[1])
        ctx.timer_service().register_event_time_timer((ctx.timestamp() // 1000 + 1) * 1000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        amounts = list(self.recent.get())
        self.recent.clear()
        yield ctx.get_current_key(), timestamp, len(amounts), sum(amounts)


class Ranks(ps.KeyedProcessFunction):
    """The best report so far, by a reducing state; draws a number that a replay must draw again."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.best = runtime_context.get_reducing_state(ps.ReducingStateDescriptor("best", max, ps.Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        group, time, count, total = value
        self.best.add(total)
        yield {"group": group, "time": time, "count": count, "total": total, "best": self.best.get()}


def main() -> None:
    out, root, events = sys.argv[1], sys.argv[2], int(sys.argv[3])
    settings = {"execution.checkpointing.dir": root, "spark.master": "local[2,2]", "state.local.dir": f"{root}/local"}
    settings["state.log.least-bytes"] = str(64 << 10)  # fold from the start: recovery must get it right too
    if len(sys.argv) > 4:
        settings["execution.resume"] = sys.argv[4]
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings))
    env.set_parallelism(2)
    strategy = ps.WatermarkStrategy.for_bounded_out_of_orderness(40).with_timestamp_assigner(lambda e, _: e[2])
    source = DataGeneratorSource(event, events, records_per_batch=max(1000, events // 25))
    (
        env.from_source(source, strategy)
        .key_by(lambda e: e[0])
        .process(Running())
        .uid("running")
        .key_by(lambda e: int(e[0].split("-")[1]) % 50)
        .process(Sessions())
        .uid("sessions")
        .key_by(lambda e: e[0] % 5)
        .process(Ranks())
        .uid("ranks")
        .sink_to(JsonLinesSink(out))
    )
    env.execute("three operators")
    print("DONE", flush=True)


if __name__ == "__main__":
    main()
