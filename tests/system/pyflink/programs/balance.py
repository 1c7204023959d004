"""A running sum in keyed state with a time to live, in single precision."""

from pyflink.common import Time
from pyflink.common.typeinfo import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import StateTtlConfig, ValueStateDescriptor

PAID = [
    ("Alice", 110.1),
    ("Bob", 30.2),
    ("Alice", 20.0),
    ("Bob", 53.1),
    ("Alice", 13.1),
    ("Bob", 3.1),
    ("Bob", 16.1),
    ("Alice", 20.1),
]


class Balance(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        forget = (
            StateTtlConfig.new_builder(Time.hours(1))
            .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
            .disable_cleanup_in_background()
            .build()
        )
        balance = ValueStateDescriptor("balance", Types.FLOAT())
        balance.enable_time_to_live(forget)
        self.balance = runtime_context.get_state(balance)

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        self.balance.update((self.balance.value() or 0) + value[1])
        yield value[0], self.balance.value()


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    paid = env.from_collection(PAID, type_info=Types.TUPLE([Types.STRING(), Types.FLOAT()]))
    paid.key_by(lambda p: p[0]).process(Balance()).print()
    env.execute()
