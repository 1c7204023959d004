"""Finds rows that the connector 'redis' has written, by key."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.connectors.redis.server import Command, Server
from penstock.errors import ElementError, JobError
from penstock.formats.columns.json_decoder import JsonDecoder
from penstock.runtime.relational.casts.cast import cast_column
from penstock.runtime.relational.casts.to_text import to_text
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.joins.lookup.table import Found
from penstock.types.logical.kinds import STRING, CharType, Field

_KEYS = 1000  # of one command


class RedisTable:
    """Reads values with MGET, or with HMGET from one hash. A key is the text of the key columns, as RowEncoder writes it.

    fields: the columns to read. keys: positions of the key columns, in the order in which they form the key. value: the name of
    the only column that is no key, whose text is the value; None if values are JSON objects.
    """

    def __init__(
        self,
        server: Server,
        fields: Sequence[Field],
        keys: Sequence[int],
        *,
        value: str | None,
        prefix: str = "",
        delimiter: str = ":",
        hash_name: str | None = None,
        zone: str = "UTC",
        retries: int = 0,
    ) -> None:
        self._server = server
        self._fields = list(fields)
        self._keys = list(keys)
        self._value = value
        self._prefix, self._delimiter, self._hash = prefix, delimiter, hash_name
        self._zone = zone
        self._retries = retries

    def __repr__(self) -> str:
        return f"RedisTable({self._server.address}, {self._fields}, {self._keys}, {self._prefix}, {self._hash})"

    def find(self, keys: Sequence[pa.Array]) -> Found:
        """Asks the server, with many keys per command."""
        session = Session(zone=self._zone)
        texts = [to_text(key, self._fields[k].type, session) for key, k in zip(keys, self._keys, strict=True)]
        names = [self._prefix + text for text in pc.binary_join_element_wise(*texts, self._delimiter).to_pylist()]
        values: list[bytes | None] = []
        commands: list[Command] = [
            ("HMGET", self._hash, *names[i : i + _KEYS]) if self._hash is not None else ("MGET", *names[i : i + _KEYS])
            for i in range(0, len(names), _KEYS)
        ]
        for reply in self._asked(commands):
            values += reply
        found = np.array([i for i, v in enumerate(values) if v is not None], np.int64)
        decoded = self._decoded([v for v in values if v is not None], session)
        at = pa.array(found)
        columns = []
        for i, field in enumerate(self._fields):
            if i in self._keys:
                columns.append(keys[self._keys.index(i)].take(at))
            else:
                columns.append(decoded[field.name])
        return Found(columns, found)

    def _asked(self, commands: list[Command]) -> list[Any]:
        for attempt in range(self._retries + 1):
            try:
                return self._server.ask(commands)
            except JobError as error:
                if error.code != "REDIS_UNREACHABLE" or attempt == self._retries:
                    raise
                time.sleep(min(0.1 * 2**attempt, 1.0))
        raise AssertionError("unreachable")

    def _decoded(self, values: list[bytes], session: Session) -> dict[str, pa.Array]:
        rest = [field for i, field in enumerate(self._fields) if i not in self._keys]
        if self._value is not None:
            texts = pa.array([value.decode() for value in values], pa.string())
            parsed = {}
            for field in rest:  # the sink writes NULL as an empty text
                given = texts if isinstance(field.type, CharType) else pc.if_else(pc.equal(texts, ""), None, texts)
                parsed[field.name] = cast_column(given, STRING, field.type, session, False)
            return parsed
        if not rest:
            return {}
        decoded = JsonDecoder(rest).decode(list(values))
        if decoded.bad:
            at, reason = decoded.bad[0]
            raise ElementError(
                "REDIS_VALUE",
                f"A value of Redis at {self._server.address} is no JSON object with the columns of the table: {values[at]!r}. "
                f"{reason}",
            )
        return dict(zip([field.name for field in rest], decoded.changes.columns, strict=True))

    def close(self) -> None:
        """Leaves the connection to others of the process."""
