"""`CompletableFuture` of PyFlink."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """The result of an asynchronous operation.

    >>> CompletableFuture.completed(3).result()
    3
    """

    def __init__(self, future: Future[T]) -> None:
        self._future = future

    @staticmethod
    def completed(value: T) -> CompletableFuture[T]:
        """Returns a future that is completed with a value."""
        future: Future[T] = Future()
        future.set_result(value)
        return CompletableFuture(future)

    @staticmethod
    def following(other: Future[T]) -> CompletableFuture[T]:
        """Returns a future with the result of another future. Cancelling it does not cancel the other."""
        future: Future[T] = Future()

        def copy(done: Future[T]) -> None:
            if future.set_running_or_notify_cancel():
                error = done.exception()
                if error is None:
                    future.set_result(done.result())
                else:
                    future.set_exception(error)

        other.add_done_callback(copy)
        return CompletableFuture(future)

    @staticmethod
    def running(function: Callable[[], T], name: str) -> CompletableFuture[T]:
        """Runs a function in a new thread and returns a future with its result."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name=name, daemon=True).start()
        return CompletableFuture(future)

    def cancel(self) -> bool:
        """Cancels the future. Returns False if it is already completed."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Returns whether the future was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Returns whether the future is completed, with a result or an error."""
        return self._future.done()

    def result(self) -> T:
        """Waits for the result and returns it. Raises the error if the operation failed."""
        return self._future.result()

    def exception(self) -> BaseException | None:
        """Returns the error, or None if there is none yet."""
        if not self._future.done() or self._future.cancelled():
            return None
        return self._future.exception()

    def __str__(self) -> str:
        state: Any = "not completed" if not self.done() else "completed" if not self.exception() else "failed"
        return f"CompletableFuture[{state}]"
