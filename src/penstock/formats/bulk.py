"""The seam of files that are read and written as a whole, such as Parquet and ORC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any


class BulkFormat:
    """How a file that cannot be cut anywhere becomes elements: Flink's bulk formats and input formats."""

    output_type: Any = None  # a type or an annotation of the elements, where they are all of one
    output_is_exact = False
    splittable = False  # a part of a file can be read, with `read_between`

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        """All elements of a file, some thousands at a time. Raises on a file that is cut off or of another format."""
        raise NotImplementedError

    def read_between(self, file_object: IO[bytes], low: int, high: int) -> Iterator[tuple[int, list[Any]]]:
        """The elements whose part of the file begins at a byte in [low, high), with the number of the first of each list."""
        raise NotImplementedError


class BulkWriter:
    """Writes elements into one file. It never closes the file object."""

    def write(self, values: list[Any]) -> None:
        """Adds elements."""
        raise NotImplementedError

    def finish(self) -> None:
        """Writes what is left, and the end of the file; nothing can be added after it."""
        raise NotImplementedError


class BulkWriterFactory:
    """Makes a writer for each file of a sink."""

    extension = ""  # of the files' names, with its dot

    def create(self, file_object: IO[bytes]) -> BulkWriter:
        """A writer of a file that is open for writing."""
        raise NotImplementedError
