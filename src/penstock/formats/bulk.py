"""The interface of bulk file formats, such as Parquet and ORC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any


class BulkFormat:
    """Reads files that cannot be split at arbitrary bytes, like Flink's bulk formats and input formats."""

    output_type: Any = None  # type or annotation of the elements, if all have the same type
    output_is_exact = False  # see DeserializationSchema.output_is_exact
    splittable = False  # whether `read_between` can read a part of a file

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        """Yields lists of elements of a file. Raises an exception if the file is truncated or has another format."""
        raise NotImplementedError

    def read_between(self, file_object: IO[bytes], low: int, high: int) -> Iterator[tuple[int, list[Any]]]:
        """Yields the elements of the blocks that start at a byte in [low, high), as lists with the number of the first."""
        raise NotImplementedError


class BulkWriter:
    """Writes elements to one file. It does not close the file object."""

    def write(self, values: list[Any]) -> None:
        """Writes elements."""
        raise NotImplementedError

    def finish(self) -> None:
        """Writes buffered elements and the end of the file. No elements can be written afterwards."""
        raise NotImplementedError


class BulkWriterFactory:
    """Creates the writer of each file of a sink."""

    extension = ""  # of the file names, with the dot

    def create(self, file_object: IO[bytes]) -> BulkWriter:
        """Creates the writer of an open file."""
        raise NotImplementedError
