"""Sums over every two elements of a key."""

from collections.abc import Iterable

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment, WindowFunction
from pyflink.datastream.window import CountWindow

PAIRS = [(1, "hi"), (2, "hello"), (3, "hi"), (4, "hello"), (5, "hi"), (6, "hello"), (6, "hello")]


class Sum(WindowFunction[tuple, tuple, str, CountWindow]):
    def apply(self, key: str, window: CountWindow, inputs: Iterable[tuple]):
        return [(key, sum(pair[0] for pair in inputs))]


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    pairs = env.from_collection(PAIRS, type_info=Types.TUPLE([Types.INT(), Types.STRING()]))
    keyed = pairs.key_by(lambda pair: pair[1], key_type=Types.STRING())
    keyed.count_window(2).apply(Sum(), Types.TUPLE([Types.STRING(), Types.INT()])).print()
    env.execute()
