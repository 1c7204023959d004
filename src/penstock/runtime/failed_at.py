"""Which of several values an error belongs to."""

from __future__ import annotations


class FailedAt(Exception):  # noqa: N818 - no error of its own: it says where one belongs
    """An error that belongs to one of several values; index -1 when it is not known which."""

    def __init__(self, index: int, cause: Exception) -> None:
        super().__init__(index, cause)
        self.index = index
        self.cause = cause
