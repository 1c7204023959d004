"""The iterator over the elements of a running job."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")


class CloseableIterator(Generic[T]):
    """An iterator over the elements of a running job. Closing it ends the job.

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
        """Returns the next element. Raises StopIteration at the end."""
        return self.__next__()

    def close(self) -> None:
        """Ends the job. Further calls have no effect."""
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
