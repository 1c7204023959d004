"""Partitions of tables as folders: `name=value/`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.connectors.file.sink.bucket_assigner import BucketAssigner
from penstock.connectors.file.source.source import FileSource
from penstock.connectors.source import Chunk
from penstock.formats.columns.interface import Decoded, Decoder, Encoder
from penstock.runtime.relational.casts.cast import cast_column
from penstock.runtime.relational.casts.to_text import to_text
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.expressions.frame import Session
from penstock.table.connectors.formats.metadata import cast_metadata
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import STRING, BooleanType, Field
from penstock.types.logical.text import parse_type

METADATA = {
    "file.path": "STRING NOT NULL",
    "file.name": "STRING NOT NULL",
    "file.size": "BIGINT NOT NULL",
    "file.modification-time": "TIMESTAMP_LTZ(3) NOT NULL",
}
_UNSAFE = re.compile(r"[\x00-\x1f\"#%'*/:=?\\\x7f{\[\]^]")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://[^/]*")


def escape_name(text: str) -> str:
    """Escapes the characters of a value that cannot be in the name of a folder.

    >>> escape_name("a/b=c d")
    'a%2Fb%3Dc d'
    """
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


def partition_of(path: str) -> dict[str, str]:
    """Returns the names and values in a path.

    >>> partition_of("/t/day=1/city=a%2Fb/part-0")
    {'day': '1', 'city': 'a/b'}
    """
    parts = [part.partition("=") for part in path.split("/")[:-1] if "=" in part]
    return {unquote(name): unquote(value) for name, _, value in parts}


class OriginFileSource(FileSource):
    """A file source whose elements are pairs: (path, size, modification time) of the file, and the element."""

    output_type = tuple

    def read(self, task: Any) -> Iterator[Chunk]:
        for file_range in task:
            origin = (file_range.path, file_range.size, file_range.modified // 1_000_000)
            for chunk in super().read([file_range]):
                chunk.values = [(origin, value) for value in chunk.values]
                yield chunk


class OriginDecoder:
    """Decodes pairs of a file and an element. Adds partition columns and metadata of the files.

    `places` says for each physical column whether it is in the "record" or in the "path".
    """

    def __init__(
        self,
        decoder: Decoder,
        columns: Sequence[Field],
        partition_keys: Sequence[str],
        metadata: Sequence[tuple[str, Field]],
        default_name: str,
        zone: str = "UTC",
    ) -> None:
        self.decoder = decoder
        self.columns = tuple(columns)
        self.partition_keys = tuple(partition_keys)
        self.metadata = tuple(metadata)
        self.default_name = default_name
        self.zone = zone

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes the elements of one chunk. They are usually of one file."""
        decoded = self.decoder.decode([element for _, element in elements])
        changes = decoded.changes
        origins = np.arange(changes.length) if decoded.origins is None else decoded.origins
        files: dict[Any, int] = {}
        number_of = np.array([files.setdefault(origin, len(files)) for origin, _ in elements], np.int64)
        at = pa.array(number_of[origins] if len(elements) else origins)
        known = list(files)
        rest = iter(changes.columns)
        columns = [
            self._partition_column(field, known).take(at) if field.name in self.partition_keys else next(rest)
            for field in self.columns
        ]
        for key, field in self.metadata:
            columns.append(self._metadata_column(key, field, known).take(at) if key in METADATA else next(rest))
        return Decoded(Changes(columns, changes.length, changes.kinds), decoded.origins, decoded.bad)

    def _partition_column(self, field: Field, files: list[Any]) -> pa.Array:
        texts = [partition_of(path).get(field.name) for path, _, _ in files]
        column = pa.array([None if text == self.default_name else text for text in texts], pa.string())
        return cast_column(column, STRING, field.type.with_nullable(True), Session(zone=self.zone), False)

    def _metadata_column(self, key: str, field: Field, files: list[Any]) -> pa.Array:
        source = parse_type(METADATA[key])
        values = [_file_value(key, *file) for file in files]
        kind = pa.int64() if key == "file.modification-time" else arrow_type(source)
        return cast_metadata(pa.array(values, kind).cast(arrow_type(source)), source, field.type, self.zone)


def _file_value(key: str, path: str, size: int, modified: int) -> Any:
    match key:
        case "file.path":
            return _SCHEME.sub("", path)
        case "file.name":
            return path.rpartition("/")[2]
        case "file.size":
            return size
    return modified


class PartitionedEncoder:
    """Encodes rows as pairs of their partition and the record, which does not contain the partition columns."""

    def __init__(
        self,
        encoder: Encoder,
        fields: Sequence[Field],
        partition_keys: Sequence[int],
        default_name: str,
        whole_files: bool = False,
        zone: str = "UTC",
    ) -> None:
        self.encoder = encoder
        self.fields = tuple(fields)
        self.partition_keys = tuple(partition_keys)
        self.default_name = default_name
        self.whole_files = whole_files  # an element has many rows, so each partition is encoded alone
        self.zone = zone

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns pairs."""
        buckets = self._buckets(changes)
        data = changes.select([i for i in range(len(self.fields)) if i not in self.partition_keys])
        if not self.whole_files:
            records, at = self.encoder.encode(data)
            rows = range(len(records)) if at is None else at.tolist()
            return [(buckets[row], record) for row, record in zip(rows, records, strict=True)], at
        by_bucket: dict[str, list[int]] = {}
        for row, bucket in enumerate(buckets):
            by_bucket.setdefault(bucket, []).append(row)
        pairs: list[Any] = []
        origins: list[int] = []
        for bucket, own in by_bucket.items():
            records, at = self.encoder.encode(data.take(np.array(own, np.int64)))
            pairs += [(bucket, record) for record in records]
            origins += own if at is None else [own[i] for i in at.tolist()]
        return pairs, np.array(origins, np.int64)

    def _buckets(self, changes: Changes) -> list[str]:
        parts: list[list[str]] = []
        for i in self.partition_keys:
            column, field = changes.columns[i], self.fields[i]
            texts = to_text(column, field.type, Session(zone=self.zone))
            if isinstance(field.type, BooleanType):
                texts = pc.utf8_lower(texts)
            name = escape_name(field.name)
            memo: dict[str | None, str] = {}
            parts.append(
                [
                    memo[t] if t in memo else memo.setdefault(t, f"{name}={escape_name(t or self.default_name)}")
                    for t in texts.to_pylist()
                ]
            )
        return ["/".join(names) for names in zip(*parts, strict=True)]


class FirstOfPair(BucketAssigner):
    """The bucket is the first part of an element."""

    wants_timestamps = False

    def get_bucket_id(self, element: Any, context: Any) -> str:
        """Returns the partition."""
        bucket: str = element[0]
        return bucket
