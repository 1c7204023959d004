"""A sink that writes to Redis: hashes, strings with a time to live, sets, sorted sets."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.connectors.redis.mapper import RedisCommand, RedisMapper, check, seconds_of
from penstock.connectors.redis.server import Command, Server
from penstock.connectors.secret import Secret
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.errors import ConfigError, ElementError
from penstock.runtime.failure import shortened
from penstock.runtime.records import Tags
from penstock.time import Duration

_MOST_KEPT = 20_000  # values that wait to be written
_PLAIN = {str, bytes, int, float}
_UPSERTS = {
    RedisCommand.HSET,
    RedisCommand.SET,
    RedisCommand.SETEX,
    RedisCommand.ZADD,
}  # a place has one value: the last


class RedisSink(Sink):
    """Writes elements to a Redis server, in tasks, by pipelined commands. Of several values for one place the last is written.

    The values of a batch are visible as soon as its tasks write them, before the batch is committed. A batch that failed runs
    again and writes the same values to the same places, so what is there when it is done is as if it had run once.

    >>> mapper = RedisMapper.string(lambda user: user[0], lambda user: user[1], Duration.of_minutes(10))
    >>> sink = RedisSink.builder().set_host("localhost").set_port(6379).set_mapper(mapper).build()
    """

    def __init__(self, server: Server, mapper: RedisMapper[Any]) -> None:
        self._server = server
        self._mapper = mapper
        self._description = check(mapper)
        self.upserts = self._description.command in _UPSERTS

    @staticmethod
    def builder() -> RedisSink.Builder:
        """Collects the settings of a sink."""
        return RedisSink.Builder()

    def writer(self, task: WriteTask) -> SinkWriter:
        return _Writer(self._server, self._mapper)

    class Builder:
        """Collects the settings of a sink."""

        def __init__(self) -> None:
            self._server: dict[str, Any] = {}
            self._mapper: RedisMapper[Any] | None = None

        def set_url(self, url: str) -> RedisSink.Builder:
            """`redis://user:password@host:port/database`, `rediss://` for TLS, or `unix:///path`."""
            parts = urlsplit(url)
            if parts.scheme not in ("redis", "rediss", "unix"):
                raise ConfigError(
                    "REDIS_URL",
                    f"A URL of scheme '{parts.scheme}' was given. Redis has redis://, rediss:// and unix://.",
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
            """The server's name or address; localhost without it."""
            self._server["host"] = host
            return self

        def set_port(self, port: int) -> RedisSink.Builder:
            """The server's port; 6379 without it."""
            self._server["port"] = port
            return self

        def set_database(self, database: int) -> RedisSink.Builder:
            """The number of the database; 0 without it."""
            self._server["database"] = database
            return self

        def set_user(self, user: str) -> RedisSink.Builder:
            """The user of the server's ACL; Redis's default user without it."""
            self._server["user"] = user
            return self

        def set_password(self, password: str | Secret) -> RedisSink.Builder:
            """The password; it appears in no plan, log or error."""
            self._server["password"] = password if isinstance(password, Secret) else Secret(password)
            return self

        def set_ssl(self, ssl: bool, ca_certificates: str | None = None) -> RedisSink.Builder:
            """Whether the connection is encrypted, and a file of certificates that the server's is checked by."""
            self._server |= {"ssl": ssl, "ca_certificates": ca_certificates}
            return self

        def set_timeout(self, timeout: Duration) -> RedisSink.Builder:
            """How long to wait for the server; five seconds without it."""
            self._server["timeout"] = timeout.to_millis() / 1000
            return self

        def set_mapper(self, mapper: RedisMapper[Any]) -> RedisSink.Builder:
            """What is written for an element."""
            self._mapper = mapper
            return self

        def build(self) -> RedisSink:
            """The sink."""
            if self._mapper is None:
                raise ConfigError(
                    "REDIS_MAPPER",
                    "The Redis sink has no mapper, so nothing says what is written for an element. Call set_mapper, for example "
                    "with RedisMapper.hash(key=..., field=..., value=...).",
                )
            return RedisSink(Server(**self._server), copy.copy(self._mapper))


class _Writer(SinkWriter):
    """Keeps the last value for each place, and writes when there are many, and at the end."""

    def __init__(self, server: Server, mapper: RedisMapper[Any]) -> None:
        self._server = server
        self._mapper = mapper
        self._description = mapper.get_command_description()
        self._kept: dict[Any, dict[Any, Any]] = {}  # of a hash or set its parts; of a string only the part ""
        self._ttls: dict[Any, int] = {}
        self._count = 0

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        keep = self._keeper()
        for value in values:
            try:
                keep(value)
            except Exception:
                self.failed_on = (value,)
                raise
        self._count += len(values)
        if self._count >= _MOST_KEPT:
            self._flush()

    def prepare(self) -> Any:
        self._flush()

    def abort(self) -> None:
        self._kept, self._ttls, self._count = {}, {}, 0

    def _keeper(self) -> Callable[[Any], None]:
        """Keeps one element: key, part of it, value, and time to live."""
        description, mapper, kept, ttls = self._description, self._mapper, self._kept, self._ttls
        command, fixed, seconds = description.command, description.additional_key, description.seconds
        within = command in (RedisCommand.HSET, RedisCommand.ZADD, RedisCommand.ZREM)
        grows = command in (RedisCommand.SADD, RedisCommand.PFADD)

        def keep(element: Any) -> None:
            key, value = _plain(mapper.get_key_from_data(element)), _plain(mapper.get_value_from_data(element))
            part: Any = ""
            if within:
                own = mapper.get_additional_key(element)
                key, part = (fixed if own is None else _plain(own)), key
            elif grows:
                part = value
            whole = kept.get(key)
            if whole is None:
                whole = kept[key] = {}
            whole[part] = value
            ttl = mapper.get_additional_ttl(element)
            own_seconds = seconds if ttl is None else seconds_of(ttl)
            if own_seconds is not None:
                ttls[key] = own_seconds
            elif key in ttls and not within and not grows:  # SET without a time to live ends an earlier one
                del ttls[key]

        return keep

    def _flush(self) -> None:
        if self._kept:
            self._server.run(self._commands())
        self.abort()

    def _commands(self) -> list[Command]:
        command, commands = self._description.command.value, list[Command]()
        for key, parts in self._kept.items():
            seconds = self._ttls.get(key)
            if command in ("SET", "SETEX"):
                commands.append(("SET", key, parts[""], *(() if seconds is None else ("EX", seconds))))
                continue
            if command == "HSET":
                told = [word for part in parts.items() for word in part]
            elif command == "ZADD":
                told = [word for member, score in parts.items() for word in (score, member)]
            else:
                told = list(parts)
            commands.append((command, key, *told))
            if seconds is not None:
                commands.append(("EXPIRE", key, seconds))
        return commands


def _plain(value: Any) -> Any:
    """A value as Redis takes it."""
    if value.__class__ in _PLAIN:
        return value
    if hasattr(value, "item") and value.item().__class__ in _PLAIN:  # a number of numpy's
        return value.item()
    if isinstance(value, (str, bytes, int, float)) and not isinstance(value, bool):
        return value
    raise ElementError(
        "REDIS_VALUE",
        f"The mapper gave {shortened(value)}, a {type(value).__name__}. Redis keeps text, bytes and numbers: let the mapper turn "
        "it into one of these, for example by json.dumps.",
    )
