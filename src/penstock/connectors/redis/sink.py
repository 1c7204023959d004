"""The Redis sink and its builder."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.connectors.redis.mapper import RedisCommand, RedisMapper, check_mapper, ttl_seconds
from penstock.connectors.redis.server import Command, Server
from penstock.connectors.secret import Secret
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.errors import ConfigError, ElementError, warn_ignored
from penstock.runtime.failure import short_repr
from penstock.runtime.loop.records import Tags
from penstock.time import Duration

_MAX_PENDING = 20_000  # values buffered before a write
_PLAIN = {str, bytes, int, float}
_UPSERTS = {
    RedisCommand.HSET,
    RedisCommand.SET,
    RedisCommand.SETEX,
    RedisCommand.ZADD,
}  # each key or field has one value, the last one


class RedisSink(Sink):
    """Writes elements to a Redis server, in tasks, with pipelined commands. Only the last value of a key or field is written.

    The values of a batch become visible when its tasks write them, before the batch is committed. A failed batch runs again and
    writes the same values to the same keys, so the final result is the same as if it had run once.

    >>> mapper = RedisMapper.string(lambda user: user[0], lambda user: user[1], Duration.of_minutes(10))
    >>> sink = RedisSink.builder().set_host("localhost").set_port(6379).set_mapper(mapper).build()
    """

    def __init__(self, server: Server, mapper: RedisMapper[Any]) -> None:
        self._server = server
        self._mapper = mapper
        self._description = check_mapper(mapper)
        self.upserts = self._description.command in _UPSERTS

    @staticmethod
    def builder() -> RedisSink.Builder:
        """Returns a builder."""
        return RedisSink.Builder()

    def writer(self, task: WriteTask) -> SinkWriter:
        return _Writer(self._server, self._mapper)

    class Builder:
        """Builds a RedisSink. A mapper is required."""

        def __init__(self) -> None:
            self._server: dict[str, Any] = {}
            self._mapper: RedisMapper[Any] | None = None

        def set_url(self, url: str) -> RedisSink.Builder:
            """Sets the server as `redis://user:password@host:port/database`, `rediss://` for TLS, or `unix:///path`."""
            parts = urlsplit(url)
            if parts.scheme not in ("redis", "rediss", "unix"):
                raise ConfigError(
                    "REDIS_URL",
                    f"set_url() got a URL with scheme '{parts.scheme}'; expected redis://, rediss:// or unix://.",
                )
            if parts.scheme == "unix":
                self._server["socket"] = unquote(parts.path)
            else:
                self._server |= {"host": parts.hostname or "localhost", "port": parts.port or 6379}
                self._server["ssl"] = parts.scheme == "rediss"
                if parts.path.strip("/"):
                    self._server["database"] = int(parts.path.strip("/"))
            if parts.username:
                self.set_user(unquote(parts.username))
            if parts.password:
                self.set_password(unquote(parts.password))
            return self

        def set_host(self, host: str) -> RedisSink.Builder:
            """Sets the host name or address of the server. The default is localhost."""
            self._server["host"] = host
            return self

        def set_port(self, port: int) -> RedisSink.Builder:
            """Sets the port of the server. The default is 6379."""
            self._server["port"] = port
            return self

        def set_database(self, database: int) -> RedisSink.Builder:
            """Sets the number of the database. The default is 0."""
            self._server["database"] = database
            return self

        def set_user(self, user: str) -> RedisSink.Builder:
            """Sets the ACL user. The default is Redis's default user."""
            self._server["user"] = user
            return self

        def set_password(self, password: str | Secret) -> RedisSink.Builder:
            """Sets the password. It is redacted in plans, logs and errors."""
            self._server["password"] = password if isinstance(password, Secret) else Secret(password)
            return self

        def set_ssl(self, ssl: bool, ca_certificates: str | None = None) -> RedisSink.Builder:
            """Sets whether to use TLS, and optionally a file with CA certificates to verify the server."""
            self._server |= {"ssl": ssl, "ca_certificates": ca_certificates}
            return self

        def set_timeout(self, timeout: Duration) -> RedisSink.Builder:
            """Sets how long to wait for the server. The default is five seconds."""
            self._server["timeout"] = timeout.to_millis() / 1000
            return self

        def set_mapper(self, mapper: RedisMapper[Any]) -> RedisSink.Builder:
            """Sets the mapper, which defines what is written for an element."""
            self._mapper = mapper
            return self

        def build(self) -> RedisSink:
            """Builds the sink."""
            if self._mapper is None:
                raise ConfigError(
                    "REDIS_MAPPER",
                    "The Redis sink has no mapper, which defines what is written for an element. Call set_mapper, for example with "
                    "RedisMapper.hash(key=..., field=..., value=...).",
                )
            unused = [name for name in ("host", "port") if name in self._server] if "socket" in self._server else []
            if unused:
                warn_ignored(f"Redis sink: {' and '.join(unused)} have no effect, because the URL names a Unix socket.")
            if self._server.get("ca_certificates") and not self._server.get("ssl"):
                warn_ignored("Redis sink: ca_certificates have no effect, because TLS is off.")
            return RedisSink(self.server(), copy.copy(self._mapper))

        def server(self) -> Server:
            """Returns the server alone, for those who read from it."""
            return Server(**self._server)


class _Writer(SinkWriter):
    """Buffers the last value of each key or field. Writes when the buffer is full and at the end of the task."""

    def __init__(self, server: Server, mapper: RedisMapper[Any]) -> None:
        self._server = server
        self._mapper = mapper
        self._description = mapper.get_command_description()
        self._pending: dict[Any, dict[Any, Any]] = {}  # key -> field or member -> value; for a string the field is ""
        self._ttls: dict[Any, int] = {}
        self._count = 0

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        add = self._adder()
        for value in values:
            try:
                add(value)
            except Exception:
                self.failed_on = (value,)
                raise
        self._count += len(values)
        if self._count >= _MAX_PENDING:
            self._flush()

    def prepare(self) -> Any:
        self._flush()

    def abort(self) -> None:
        self._pending, self._ttls, self._count = {}, {}, 0

    def _adder(self) -> Callable[[Any], None]:
        """Returns a function that adds one element to the buffer."""
        description, mapper, pending, ttls = self._description, self._mapper, self._pending, self._ttls
        command, fixed, seconds = description.command, description.additional_key, description.seconds
        nested = command in (RedisCommand.HSET, RedisCommand.ZADD, RedisCommand.ZREM)
        is_set = command in (RedisCommand.SADD, RedisCommand.PFADD)
        deletes = mapper.deletes

        def add(element: Any) -> None:
            key, value = _to_redis_value(mapper.get_key_from_data(element)), mapper.get_value_from_data(element)
            if not (deletes and value is None):
                value = _to_redis_value(value)
            field: Any = ""
            if nested:
                own = mapper.get_additional_key(element)
                key, field = (fixed if own is None else _to_redis_value(own)), key
            elif is_set:
                field = value
            fields = pending.get(key)
            if fields is None:
                fields = pending[key] = {}
            fields[field] = value
            ttl = mapper.get_additional_ttl(element)
            own_seconds = seconds if ttl is None else ttl_seconds(ttl)
            if own_seconds is not None:
                ttls[key] = own_seconds
            elif key in ttls and not nested and not is_set:  # SET without a time to live removes an earlier one
                del ttls[key]

        return add

    def _flush(self) -> None:
        if self._pending:
            self._server.run(self._commands())
        self.abort()

    def _commands(self) -> list[Command]:
        command, commands = self._description.command.value, list[Command]()
        for key, fields in self._pending.items():
            seconds = self._ttls.get(key)
            removed = [field for field, value in fields.items() if value is None]
            if removed:
                commands.append(("HDEL", key, *removed) if command == "HSET" else ("DEL", key))
                fields = {field: value for field, value in fields.items() if value is not None}
                if not fields:
                    continue
            if command in ("SET", "SETEX"):
                commands.append(("SET", key, fields[""], *(() if seconds is None else ("EX", seconds))))
                continue
            if command == "HSET":
                arguments = [argument for item in fields.items() for argument in item]
            elif command == "ZADD":
                arguments = [argument for member, score in fields.items() for argument in (score, member)]
            else:
                arguments = list(fields)
            commands.append((command, key, *arguments))
            if seconds is not None:
                commands.append(("EXPIRE", key, seconds))
        return commands


def _to_redis_value(value: Any) -> Any:
    """Converts a value to a type that Redis accepts."""
    if value.__class__ in _PLAIN:
        return value
    if hasattr(value, "item") and value.item().__class__ in _PLAIN:  # a numpy number
        return value.item()
    if isinstance(value, (str, bytes, int, float)) and not isinstance(value, bool):
        return value
    raise ElementError(
        "REDIS_VALUE",
        f"The mapper returned {short_repr(value)}, a {type(value).__name__}; expected str, bytes, int or float. Convert the "
        "value in the mapper, for example with json.dumps.",
    )
