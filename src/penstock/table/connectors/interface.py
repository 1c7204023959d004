"""What a connector of a table provides: a source or a sink of the DataStream layer, with a decoder or an encoder of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from penstock.connectors.sink import Sink
from penstock.connectors.source import Source
from penstock.formats.columns.interface import Decoder, Encoder
from penstock.runtime.relational.expressions.tree import Expression
from penstock.runtime.relational.joins.lookup.settings import CacheSettings
from penstock.runtime.relational.joins.lookup.table import LookupTable
from penstock.table.catalog.table import CatalogTable
from penstock.types.logical.kinds import Field

ChangelogMode = Literal["append", "upsert", "retract"]
"""append: +I only. upsert: +I, +U and -D by primary key, without -U. retract: all kinds."""


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """What a query reads of a table.

    columns: the physical columns that the decoder must produce, in this order. metadata: metadata columns (key and wanted type),
    which follow the physical ones in the output of the decoder.
    """

    table: CatalogTable
    path: tuple[str, ...]  # catalog, database, table; for messages
    options: dict[str, str]
    columns: Sequence[Field]
    metadata: Sequence[tuple[str, Field]] = ()
    zone: str = "UTC"  # session time zone
    batch_mode: bool = False
    partitions: Sequence[Expression] = ()  # conditions over the columns of the table: other partitions need not be read


@dataclass(frozen=True, slots=True)
class TableSource:
    """A source and the decoder of its elements. The source is bounded or not (`Source.bounded`).

    parallelism and watermark options of the table (scan.watermark.idle-timeout, .alignment.*, .emit.strategy) are read by the
    planner from the options, not here.
    """

    source: Source
    decoder: Decoder
    mode: ChangelogMode = "append"
    on_error: Literal["fail", "skip"] = "fail"


@dataclass(frozen=True, slots=True)
class SinkRequest:
    """What INSERT writes to a table: its sink columns (physical, then metadata that is not virtual), in this order."""

    table: CatalogTable
    path: tuple[str, ...]
    options: dict[str, str]
    columns: Sequence[Field]
    metadata: Sequence[tuple[str, Field]] = ()
    primary_key: tuple[int, ...] = ()  # positions in columns
    partition_keys: tuple[int, ...] = ()
    overwrite: bool = False
    insert_only: bool = True  # whether the query emits only insertions
    zone: str = "UTC"
    batch_mode: bool = False


@dataclass(frozen=True, slots=True)
class TableSink:
    """A sink and the encoder of its elements. `mode` is what the sink accepts.

    The planner refuses a query whose changes the sink cannot take: an updating query into an append sink.
    """

    sink: Sink
    encoder: Encoder
    mode: ChangelogMode = "append"


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """What a lookup join asks of a table: the physical columns, in this order, of the rows that have some keys.

    keys: positions of columns that the query compares with values of the other table, by equality. equal: columns that have one
    constant value, as Python values of `expressions/values.py`; the connector may use them to return fewer rows.
    """

    table: CatalogTable
    path: tuple[str, ...]
    options: dict[str, str]
    columns: Sequence[Field]
    keys: tuple[int, ...]
    equal: tuple[tuple[int, Any], ...] = ()
    zone: str = "UTC"
    timeout: int | None = None  # of asynchronous functions, in milliseconds


@dataclass(frozen=True, slots=True)
class LookupSource:
    """A table that finds rows by key. keys: those of the request that it uses; the query compares the others itself."""

    table: LookupTable
    keys: tuple[int, ...]
    cache: CacheSettings | None = None


class LookupConnector(Protocol):
    """A connector whose tables can be joined by FOR SYSTEM_TIME AS OF a processing time."""

    def lookup(self, request: LookupRequest) -> LookupSource: ...


class Connector(Protocol):
    """One value of the option 'connector'. All options are validated here: unknown and missing ones are errors with a list."""

    name: str

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns the metadata keys that can be read, with their types as text."""
        ...

    def source(self, request: ScanRequest) -> TableSource: ...

    def sink(self, request: SinkRequest) -> TableSink: ...
