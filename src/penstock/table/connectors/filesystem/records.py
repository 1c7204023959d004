"""Splits text files into records, where a record may have several lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from penstock.formats.bulk import BulkFormat

_BLOCK = 1 << 20


class QuotedRecords(BulkFormat):
    """Reads CSV files. A record ends at a line end that is not within quotes. Empty lines are records.

    >>> import io
    >>> list(QuotedRecords('"').read(io.BytesIO(b'a,"b\\nc"\\r\\n\\nd')))
    [[b'a,"b\\nc"', b''], [b'd']]
    """

    output_type = bytes

    def __init__(self, quote: str | None) -> None:
        self._quote = None if quote is None else quote.encode()

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        """Yields records as bytes."""
        rest = b""
        while block := file_object.read(_BLOCK):
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            records, open_ = self._records(lines)
            if open_ is not None:
                rest = open_ + b"\n" + rest
            if records:
                yield records
        if rest:
            yield [rest.removesuffix(b"\r")]

    def _records(self, lines: list[bytes]) -> tuple[list[bytes], bytes | None]:
        """Returns complete records, and the beginning of one whose quotes are still open."""
        quote = self._quote
        if quote is None or not any(quote in line for line in lines):
            return [line.removesuffix(b"\r") for line in lines], None
        records: list[bytes] = []
        started: list[bytes] = []
        odd = False
        for line in lines:
            odd ^= line.count(quote) % 2 == 1
            started.append(line)
            if not odd:
                records.append(b"\n".join(started).removesuffix(b"\r"))
                started = []
        return records, b"\n".join(started) if started else None
