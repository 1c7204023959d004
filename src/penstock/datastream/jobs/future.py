"""A result that comes later, as PyFlink hands it out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """A result that is there now or comes later.

    >>> CompletableFuture.completed(3).result()
    3
    """

    def __init__(self, future: Future[T]) -> None:
        self._future = future

    @staticmethod
    def completed(value: T) -> CompletableFuture[T]:
        """A future whose result is there."""
        future: Future[T] = Future()
        future.set_result(value)
        return CompletableFuture(future)

    @staticmethod
    def following(other: Future[T]) -> CompletableFuture[T]:
        """A future with the result of another one; to cancel it does not touch the other."""
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
        """A future with the result of a function, which runs in a thread of its own."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name=name, daemon=True).start()
        return CompletableFuture(future)

    def cancel(self) -> bool:
        """Gives up waiting for the result; says whether that came in time."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether there is a result or an error."""
        return self._future.done()

    def result(self) -> T:
        """The result; waits for it, and raises the error if there is one."""
        return self._future.result()

    def exception(self) -> BaseException | None:
        """The error, if there is one by now."""
        if not self._future.done() or self._future.cancelled():
            return None
        return self._future.exception()

    def __str__(self) -> str:
        state: Any = "not completed" if not self.done() else "completed" if not self.exception() else "failed"
        return f"CompletableFuture[{state}]"
