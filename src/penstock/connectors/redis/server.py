"""Connects to a Redis server, runs commands, and converts errors."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.connectors.secret import Secret
from penstock.errors import ConfigError, JobError, PenstockError

Command = tuple[Any, ...]
_CLIENTS: dict[tuple[int, Server], Any] = {}  # by process; keeps connections open between batches


@dataclass(frozen=True)
class Server:
    """Address and credentials of a Redis server."""

    host: str = "localhost"
    port: int = 6379
    database: int = 0
    socket: str | None = None  # path of a Unix socket, instead of host and port
    user: str | None = None
    password: Secret | None = None
    ssl: bool = False
    ca_certificates: str | None = None
    timeout: float = 5.0

    @property
    def address(self) -> str:
        """The address in error messages.

        >>> Server(port=1).address
        'localhost:1, database 0'
        """
        return f"{self.socket or f'{self.host}:{self.port}'}, database {self.database}"

    def run(self, commands: Iterable[Command]) -> None:
        """Runs commands in order, in one round trip. Raises the error of the first command that fails."""
        self.ask(commands)

    def ask(self, commands: Iterable[Command]) -> list[Any]:
        """Runs commands like `run`, and returns their replies."""
        redis = _library()
        pipeline = self._client(redis).pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        try:
            replies = pipeline.execute(raise_on_error=False)
        except redis.RedisError as error:
            raise self._to_penstock_error(redis, error) from None  # the original error may contain the data
        for reply in replies:
            if isinstance(reply, redis.RedisError):
                raise self._to_penstock_error(redis, reply) from None
        return list(replies)

    def _client(self, redis: Any) -> Any:
        key = (os.getpid(), self)
        client = _CLIENTS.get(key)
        if client is None:
            client = _CLIENTS[key] = redis.Redis(
                host=self.host,
                port=self.port,
                db=self.database,
                unix_socket_path=self.socket,
                username=self.user,
                password=None if self.password is None else self.password.reveal(),
                ssl=self.ssl,
                ssl_ca_certs=self.ca_certificates,
                socket_timeout=self.timeout,
                socket_connect_timeout=self.timeout,
            )
        return client

    def _to_penstock_error(self, redis: Any, error: Exception) -> PenstockError:
        message = str(error).partition("caused error: ")[2] or str(error)
        denied = message.startswith(("WRONGPASS", "NOAUTH", "NOPERM", "invalid username-password", "invalid password"))
        if isinstance(error, (redis.AuthenticationError, redis.exceptions.NoPermissionError)) or denied:
            login = "no password is set" if self.password is None else f"user '{self.user or 'default'}'"
            return ConfigError(
                "REDIS_AUTHENTICATION",
                f"Redis at {self.address} denies access: {message} ({login}). Check set_user and set_password of the sink builder, "
                "and the permissions of the user in the ACL of the server.",
            )
        if isinstance(error, (redis.ConnectionError, redis.TimeoutError, OSError)):
            return JobError(
                "REDIS_UNREACHABLE",
                f"Redis at {self.address} cannot be reached: {message}. Check that the server is running and that set_host, "
                "set_port and set_ssl of the sink builder are correct. The batch was not committed; resume the job when the "
                "server is available.",
            )
        return JobError(
            "REDIS_REFUSED",
            f"Redis at {self.address} rejects a command of the sink: {message}. WRONGTYPE means that the key has a value of "
            "another type. Remove that key or write to other keys, then resume the job.",
        )


def _library() -> Any:
    try:
        import redis
    except ImportError:
        raise ConfigError(
            "MISSING_PACKAGE",
            "The Redis sink needs the package redis, which is not installed. Install it with `pip install 'penstock[redis]'`.",
        ) from None
    return redis
