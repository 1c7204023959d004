"""Event-time timers two seconds after each element; those of the last two seconds fire when the input ends."""

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

PAID = [
    (1000, "Alice", 110.1),
    (4000, "Bob", 30.2),
    (3000, "Alice", 20.0),
    (2000, "Bob", 53.1),
    (5000, "Alice", 13.1),
    (3000, "Bob", 3.1),
    (7000, "Bob", 16.1),
    (10000, "Alice", 20.1),
]


class Later(KeyedProcessFunction):
    def open(self, runtime_context):
        self.balance = runtime_context.get_state(ValueStateDescriptor("balance", Types.DOUBLE()))

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        self.balance.update((self.balance.value() or 0) + value[2])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 2000)

    def on_timer(self, timestamp: int, ctx: "KeyedProcessFunction.OnTimerContext"):
        yield ctx.get_current_key(), self.balance.value()


class FirstField(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp: int) -> int:
        return value[0]


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    in_time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    paid = env.from_collection(PAID, type_info=Types.TUPLE([Types.LONG(), Types.STRING(), Types.FLOAT()]))
    paid = paid.assign_timestamps_and_watermarks(in_time.with_timestamp_assigner(FirstField()))
    paid.key_by(lambda p: p[1]).process(Later()).print()
    env.execute()
