"""The decoder of JSON records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from penstock.errors import ElementError
from penstock.formats.columns.interface import Decoded
from penstock.formats.columns.json_exact import ExactReader
from penstock.formats.columns.json_struct import Path, Paths, StructColumns
from penstock.runtime.relational.changes import Changes
from penstock.types.logical.kinds import Field

_FEW = 16  # records that are checked one by one


@dataclass(frozen=True, slots=True)
class JsonSettings:
    """How JSON is read: the options of the format."""

    fail_on_missing_field: bool = False
    ignore_parse_errors: bool = False
    timestamp_separator: str = " "  # "T" for ISO-8601


class JsonDecoder:
    """Decodes JSON objects, one per record. Unknown fields are skipped, and missing fields are null.

    >>> from penstock.types.logical.kinds import INT, STRING
    >>> decoder = JsonDecoder([Field("a", INT), Field("b", STRING)])
    >>> decoded = decoder.decode([b'{"a": 1, "c": 0}', b'{"a": "2", "b": true}', b'{"a": "x"}'])
    >>> [c.to_pylist() for c in decoded.changes.columns], [at for at, _ in decoded.bad]
    ([[1, 2], [None, 'true']], [2])
    """

    def __init__(
        self,
        fields: Sequence[Field],
        settings: JsonSettings | None = None,
        paths: Paths | None = None,
        flat: bool = False,
    ) -> None:
        self.fields = tuple(fields)
        self.settings = settings or JsonSettings()
        self.paths = paths
        self._flat = flat  # fields of rows are columns
        _ = self.columns  # refuses types that JSON does not have

    def __getstate__(self) -> dict[str, Any]:
        return {"fields": self.fields, "settings": self.settings, "paths": self.paths, "_flat": self._flat}

    def only(self, paths: Paths) -> JsonDecoder:
        """Returns a decoder that reads only some fields of rows. The others are null."""
        if self.settings.fail_on_missing_field:
            return self
        return JsonDecoder(self.fields, self.settings, paths)

    def flattened(self, paths: Paths) -> tuple[JsonDecoder, list[Path]] | None:
        """Returns a decoder that has a column for each field of a row that is read, instead of one for the row, and these fields.

        None if fields must not be missing, because then all of them are read.
        """
        if self.settings.fail_on_missing_field:
            return None
        decoder = JsonDecoder(self.fields, self.settings, paths, flat=True)
        return decoder, decoder.columns.leaves(paths)

    @cached_property
    def columns(self) -> StructColumns:
        """The struct and the columns of the fields."""
        settings = self.settings
        return StructColumns(self.fields, settings.timestamp_separator, settings.fail_on_missing_field, self.paths)

    @cached_property
    def exact(self) -> ExactReader:
        """Reads records that the fast path does not take."""
        settings = self.settings
        return ExactReader(
            self.fields,
            self.columns,
            settings.timestamp_separator,
            settings.fail_on_missing_field,
            settings.ignore_parse_errors,
        )

    @cached_property
    def _decode(self) -> Any:
        return msgspec.json.Decoder(self.columns.struct).decode

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes the elements of one chunk: bytes or text. None, a record without a value, has no row."""
        bad: list[tuple[int, Exception]] = []
        origins: list[int] | None = None
        try:
            rows: list[Any] = list(map(self._decode, elements))
        except Exception:
            rows, origins = self._one_by_one(elements, bad)
        columns = self._build(rows, elements, origins, bad)
        if columns is None:
            kept = [i for i, row in enumerate(rows) if row is not None]
            origins = kept if origins is None else [origins[i] for i in kept]
            rows = [rows[i] for i in kept]
            columns = self._columns(rows)
        if self.settings.ignore_parse_errors:
            bad = []
        bad.sort(key=lambda entry: entry[0])
        return Decoded(Changes(columns, len(rows)), None if origins is None else np.array(origins, np.int64), bad)

    def _columns(self, rows: list[Any]) -> list[pa.Array]:
        if self._flat and self.paths is not None:
            return self.columns.build_leaves(rows, self.paths)
        return self.columns.build(rows)

    def _one_by_one(self, elements: list[Any], bad: list[tuple[int, Exception]]) -> tuple[list[Any], list[int]]:
        """Reads records of which at least one is not taken by the fast path."""
        decode, rows, origins = self._decode, [], []
        for at, element in enumerate(elements):
            if element is None:
                continue
            try:
                row = decode(element)
            except Exception:
                try:
                    several = self.exact.read(element)
                except ElementError as error:
                    bad.append((at, error))
                    continue
                rows += several
                origins += [at] * len(several)
                continue
            rows.append(row)
            origins.append(at)
        return rows, origins

    def _build(
        self, rows: list[Any], elements: list[Any], origins: list[int] | None, bad: list[tuple[int, Exception]]
    ) -> list[pa.Array] | None:
        """Returns the columns, or None if some rows were replaced (None: the record is bad)."""
        try:
            return self._columns(rows)
        except Exception:
            self._replace(rows, 0, len(rows), elements, origins, bad)
            return None

    def _replace(
        self,
        rows: list[Any],
        low: int,
        high: int,
        elements: list[Any],
        origins: list[int] | None,
        bad: list[tuple[int, Exception]],
    ) -> None:
        """Reads the rows that cannot become columns by the exact path. Looks for them by halves, because they are few."""
        if high - low <= _FEW:
            for i in range(low, high):
                at = i if origins is None else origins[i]
                try:
                    several = self.exact.read(elements[at])
                    rows[i] = several[0] if len(several) == 1 else rows[i]  # rows of an array are exact already
                except ElementError as error:
                    bad.append((at, error))
                    rows[i] = None
            return
        middle = (low + high) // 2
        for start, end in ((low, middle), (middle, high)):
            try:
                self._columns(rows[start:end])
            except Exception:
                self._replace(rows, start, end, elements, origins, bad)
