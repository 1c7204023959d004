"""The connection of a task to Spark's state server, which Spark's JVM would never close.

Spark accepts a connection for each task that uses state. It closes the connection only if it interrupts the thread that waits for
the next request, which happens when the task ends. If the Python worker ends the conversation earlier, that thread ends first, and
the JVM keeps an open socket for each slot and batch until it has no more file descriptors. So the worker stays connected until its
next task begins.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.stateful_processor_api_client import (
    StatefulProcessorApiClient,
    StatefulProcessorHandleState,
)


class StateConnection:
    """The connection of the last task of this process."""

    def __init__(self) -> None:
        self._client: StatefulProcessorApiClient | None = None

    def keep_open(self, client: StatefulProcessorApiClient) -> None:
        """Keeps the connection of the current task until the next task calls this."""
        if client.handle_state is StatefulProcessorHandleState.PRE_INIT:
            return  # in the driver, before the query starts: Spark ends that thread by other means
        send = client.set_handle_state

        def set_handle_state(state: Any) -> None:
            if state is StatefulProcessorHandleState.CLOSED:
                client.handle_state = state
            else:
                send(state)

        client.set_handle_state = set_handle_state  # type: ignore[method-assign]
        self._client = client


connection = StateConnection()
