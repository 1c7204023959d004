"""Asks a service about every row at once, and again when it fails."""

import asyncio
import functools
import json

from pyflink.common import Row, Time, Types
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    CheckpointingMode,
    RuntimeContext,
    StreamExecutionEnvironment,
    async_retry_predicates,
)


class Judge(AsyncFunction[Row, str]):
    def open(self, runtime_context: RuntimeContext):
        self.asked = set()

    async def async_invoke(self, value: Row) -> list[str]:
        await asyncio.sleep(0.05)
        if value.user_id % 3 == 0 and value.user_id not in self.asked:
            self.asked.add(value.user_id)
            raise TimeoutError("try again")
        return [json.dumps({"user_id": value.user_id, "comments": value.comments, "result": "positive"})]

    def timeout(self, value: Row) -> list[str]:
        return [json.dumps({"user_id": value.user_id, "comments": value.comments, "result": None})]


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(30000, CheckpointingMode.EXACTLY_ONCE)
    comments = env.from_collection(
        [(n, f"comment {n}") for n in range(30)],
        type_info=Types.ROW_NAMED(["user_id", "comments"], [Types.INT(), Types.STRING()]),
    )
    again = AsyncRetryStrategy.fixed_delay(
        max_attempts=100,
        backoff_time_millis=10,
        result_predicate=None,
        exception_predicate=functools.partial(
            async_retry_predicates.exception_type_predicate, expected_error_type=TimeoutError
        ),
    )
    AsyncDataStream.unordered_wait_with_retry(
        data_stream=comments,
        async_function=Judge(),
        timeout=Time.seconds(10),
        async_retry_strategy=again,
        capacity=1000,
        output_type=Types.STRING(),
    ).print()
    env.execute()
