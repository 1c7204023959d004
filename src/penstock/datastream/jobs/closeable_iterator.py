"""The elements of a running job, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")


class CloseableIterator(Generic[T]):
    """Elements as they come; closing it ends the job that makes them.

    >>> with CloseableIterator(iter("abc")) as found:
    ...     found.next(), list(found)
    ('a', ['b', 'c'])
    """

    def __init__(self, elements: Iterator[T]) -> None:
        self._elements = elements
        self._closed = False

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._closed:
            raise StopIteration
        return next(self._elements)

    def next(self) -> T:
        """The next element; StopIteration when there is none."""
        return self.__next__()

    def close(self) -> None:
        """Ends the job; a second call does nothing."""
        self._closed = True
        close = getattr(self._elements, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> CloseableIterator[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
