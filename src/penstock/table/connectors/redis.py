"""The connector 'redis'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.connectors.redis.mapper import RedisCommand, RedisCommandDescription, RedisMapper
from penstock.connectors.redis.sink import RedisSink
from penstock.errors import ElementError
from penstock.formats.columns.json_encoder import JsonEncoder
from penstock.runtime.relational.casts.to_text import to_text
from penstock.runtime.relational.changes import DELETE, UPDATE_BEFORE, Changes
from penstock.runtime.relational.expressions.frame import Session
from penstock.table.connectors.blackhole import not_readable
from penstock.table.connectors.interface import (
    LookupRequest,
    LookupSource,
    ScanRequest,
    SinkRequest,
    TableSink,
    TableSource,
)
from penstock.table.connectors.lookup.options import PARTIAL_CACHE_OPTIONS, cache_settings
from penstock.table.connectors.lookup.redis import RedisTable
from penstock.table.connectors.options import COMMON_SINK_OPTIONS, Option, OptionValues, owner
from penstock.time import Duration
from penstock.types.logical.kinds import Field

REDIS_OPTIONS = (
    Option("url"),
    Option("host", default="localhost"),
    Option("port", "int", 6379),
    Option("database", "int"),
    Option("username"),
    Option("password"),
    Option("ssl", "boolean", False),
    Option("timeout", "duration"),
    Option("command", "enum", "SET", choices=("SET", "HSET")),
    Option("additional-key"),
    Option("key-prefix", default=""),
    Option("key-delimiter", default=":"),
    Option("ttl", "duration"),
    *PARTIAL_CACHE_OPTIONS,
    *COMMON_SINK_OPTIONS,
)


class RowEncoder:
    """Encodes rows as (key, value). The value is None for rows that are removed; rows that are replaced (-U) are not written.

    The key consists of the key columns as text. The value is the text of the other column, or a JSON object of several.
    """

    def __init__(
        self, fields: Sequence[Field], key: Sequence[int], prefix: str = "", delimiter: str = ":", zone: str = "UTC"
    ) -> None:
        self.fields = tuple(fields)
        self.key = tuple(key)
        self.rest = tuple(i for i in range(len(fields)) if i not in self.key)
        self.prefix, self.delimiter = prefix, delimiter
        self.zone = zone
        self.json = JsonEncoder([fields[i] for i in self.rest]) if len(self.rest) != 1 else None

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one pair per row that is written."""
        rows: NDArray[np.int64] | None = None
        if changes.kinds is not None and (changes.kinds == UPDATE_BEFORE).any():
            rows = np.flatnonzero(changes.kinds != UPDATE_BEFORE)
            changes = changes.take(rows)
        session = Session(zone=self.zone)
        parts = []
        for i in self.key:
            if changes.columns[i].null_count:
                raise ElementError(
                    "REDIS_KEY", f"The key column '{self.fields[i].name}' is null. A key of Redis must not be null."
                )
            parts.append(to_text(changes.columns[i], self.fields[i].type, session))
        keys = pc.binary_join_element_wise(*parts, self.delimiter).to_pylist()
        if self.json is None:
            column = to_text(changes.columns[self.rest[0]], self.fields[self.rest[0]].type, session)
            values: list[Any] = pc.fill_null(column, "").to_pylist()
        else:
            values = self.json.encode(changes.select(self.rest))[0]
        removed = (changes.all_kinds() == DELETE).tolist()
        prefix = self.prefix
        pairs = [
            (prefix + key, None if gone else value) for key, value, gone in zip(keys, values, removed, strict=True)
        ]
        return pairs, rows


class PairMapper(RedisMapper[Any]):
    """Maps the pairs of RowEncoder to SET or HSET, and pairs without a value to DEL or HDEL."""

    deletes = True

    def __init__(self, description: RedisCommandDescription) -> None:
        self._description = description

    def get_command_description(self) -> RedisCommandDescription:
        """Returns the command."""
        return self._description

    def get_key_from_data(self, data: Any) -> Any:
        """Returns the key."""
        return data[0]

    def get_value_from_data(self, data: Any) -> Any:
        """Returns the value, or None."""
        return data[1]


class RedisConnector:
    """Writes rows to a Redis server, and finds them by key. A table with a primary key also accepts updates and deletions."""

    name = "redis"

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns nothing."""
        return {}

    def source(self, request: ScanRequest) -> TableSource:
        """Refuses to read all keys."""
        raise not_readable(self.name, request)

    def sink(self, request: SinkRequest) -> TableSink:
        """Returns a sink of commands."""
        values = OptionValues(owner(request.path), self.name, request.options, REDIS_OPTIONS)
        command = RedisCommand[values["command"]]
        if (command is RedisCommand.HSET) != (values["additional-key"] is not None):
            raise values.error(
                "Option 'additional-key' names the hash of the command 'HSET'. Set both or none of them."
            )
        if len(request.columns) < 2:
            raise values.error("The table needs a column for the key and at least one for the value.")
        ttl = None if values["ttl"] is None else Duration.of_millis(values["ttl"])
        description = RedisCommandDescription(command, values["additional-key"], ttl)
        key = request.primary_key or (0,)
        encoder = RowEncoder(request.columns, key, values["key-prefix"], values["key-delimiter"], request.zone)
        sink = self._builder(values).set_mapper(PairMapper(description)).build()
        return TableSink(sink, encoder, "upsert" if request.primary_key else "append")

    def lookup(self, request: LookupRequest) -> LookupSource:
        """Returns a table that reads the values that the sink writes."""
        values = OptionValues(owner(request.path), self.name, request.options, REDIS_OPTIONS)
        physical = [c.name for c in request.table.columns if c.kind == "physical"]
        key = request.table.primary_key or (physical[0],)
        asked = {request.columns[k].name: k for k in request.keys}
        missing = [name for name in key if name not in asked]
        if missing:
            raise values.error(
                f"A lookup join must compare all columns of the key ({', '.join(key)}) by equality. Missing: {', '.join(missing)}."
            )
        others = [name for name in physical if name not in key]
        keys = tuple(asked[name] for name in key)
        table = RedisTable(
            self._builder(values).server(),
            request.columns,
            keys,
            value=others[0] if len(others) == 1 else None,
            prefix=values["key-prefix"],
            delimiter=values["key-delimiter"],
            hash_name=values["additional-key"],
            zone=request.zone,
            retries=values["lookup.max-retries"],
        )
        return LookupSource(table, keys, cache_settings(values))

    def _builder(self, values: OptionValues) -> RedisSink.Builder:
        builder = RedisSink.builder()
        if values["url"] is not None:
            builder.set_url(values["url"])
        else:
            builder.set_host(values["host"]).set_port(values["port"])
        if values["database"] is not None:
            builder.set_database(values["database"])
        if values["username"] is not None:
            builder.set_user(values["username"])
        if values["password"] is not None:
            builder.set_password(values["password"])
        if values["ssl"]:
            builder.set_ssl(True)
        if values["timeout"] is not None:
            builder.set_timeout(Duration.of_millis(values["timeout"]))
        return builder
