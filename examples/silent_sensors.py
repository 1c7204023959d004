"""Reports each sensor without a reading for ten seconds of event time. Every reading replaces the timer of its sensor.

penstock run examples/silent_sensors.py
"""

import penstock as ps

SILENCE = 10_000

READINGS = [  # sensor, time in ms
    ("door", 1_000),
    ("roof", 2_000),
    ("door", 8_000),
    ("hall", 20_000),
    ("roof", 25_000),
    ("door", 27_000),
]


class Silence(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ps.ValueStateDescriptor("last", int))

    def process_element(self, reading, ctx):
        timers = ctx.timer_service()
        if (last := self.last.value()) is not None:
            timers.delete_event_time_timer(last + SILENCE)
        self.last.update(ctx.timestamp())
        timers.register_event_time_timer(ctx.timestamp() + SILENCE)

    def on_timer(self, timestamp, ctx):
        self.last.clear()
        yield f"{ctx.get_current_key()} has been silent since {timestamp - SILENCE}"


env = ps.StreamExecutionEnvironment.get_execution_environment()
in_order = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda reading, _: reading[1])
readings = env.from_collection(READINGS).assign_timestamps_and_watermarks(in_order)
readings.key_by(lambda reading: reading[0]).process(Silence()).print()
env.execute("silent sensors")
