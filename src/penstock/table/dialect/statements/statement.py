"""The base class of statements, and names of objects in catalogs."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Statement(msgspec.Struct, frozen=True):
    """A parsed statement. `kind` is the name that Flink's parser has for it, such as CreateTable."""

    kind: ClassVar[str] = ""

    def statement_kind(self) -> str:
        """Returns the kind. Queries and statements with variants derive it from their contents."""
        return self.kind


class ObjectName(msgspec.Struct, frozen=True):
    """A name of a table, view, function and so on, with the catalog and the database if they were written."""

    parts: tuple[str, ...]
    line: int = 0
    column: int = 0

    @property
    def name(self) -> str:
        return self.parts[-1]

    def __str__(self) -> str:
        return ".".join(self.parts)


class SqlOption(msgspec.Struct, frozen=True):
    """'key' = 'value' in WITH (...) or SET (...), with the place of the key."""

    key: str
    value: str
    line: int = 0
    column: int = 0


class PartitionValue(msgspec.Struct, frozen=True):
    """day = '2024-01-31' in PARTITION (...). The value is None in `ANALYZE TABLE t PARTITION (day)`."""

    column: str
    value: object  # an expression, which is a literal
    line: int = 0
    column_number: int = 0
