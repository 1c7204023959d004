"""A Redis server as the sink knows it: how it is reached, and what its refusals mean."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.connectors.secret import Secret
from penstock.errors import ConfigError, JobError, PenstockError

Command = tuple[Any, ...]
_CLIENTS: dict[tuple[int, Server], Any] = {}  # of this process; they keep their connections between batches


@dataclass(frozen=True)
class Server:
    """Where a server is, and who we are to it."""

    host: str = "localhost"
    port: int = 6379
    database: int = 0
    socket: str | None = None  # a path: instead of host and port
    user: str | None = None
    password: Secret | None = None
    ssl: bool = False
    ca_certificates: str | None = None
    timeout: float = 5.0

    @property
    def place(self) -> str:
        """What errors call it.

        >>> Server(port=1).place
        'localhost:1, database 0'
        """
        return f"{self.socket or f'{self.host}:{self.port}'}, database {self.database}"

    def run(self, commands: Iterable[Command]) -> None:
        """Runs commands in order, in one round trip. Raises on the first that the server refuses."""
        redis = _library()
        pipeline = self._client(redis).pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        try:
            replies = pipeline.execute(raise_on_error=False)
        except redis.RedisError as error:
            raise self._told(redis, error) from None  # its own words may hold what we sent
        for reply in replies:
            if isinstance(reply, redis.RedisError):
                raise self._told(redis, reply) from None

    def _client(self, redis: Any) -> Any:
        mine = (os.getpid(), self)
        client = _CLIENTS.get(mine)
        if client is None:
            client = _CLIENTS[mine] = redis.Redis(
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

    def _told(self, redis: Any, error: Exception) -> PenstockError:
        words = str(error).partition("caused error: ")[2] or str(error)
        denied = words.startswith(("WRONGPASS", "NOAUTH", "NOPERM", "invalid username-password", "invalid password"))
        if isinstance(error, (redis.AuthenticationError, redis.exceptions.NoPermissionError)) or denied:
            who = "no password was given" if self.password is None else f"as user '{self.user or 'default'}'"
            return ConfigError(
                "REDIS_AUTHENTICATION",
                f"Redis at {self.place} refuses us: {words} ({who}). set_password and set_user of the sink's builder decide who "
                "writes, and the server's ACL what that user may do.",
            )
        if isinstance(error, (redis.ConnectionError, redis.TimeoutError, OSError)):
            return JobError(
                "REDIS_UNREACHABLE",
                f"Redis at {self.place} cannot be reached: {words}. Check that it runs and that set_host, set_port and set_ssl of "
                "the sink's builder name it. Nothing of the batch counts as written: resume the job when the server is there.",
            )
        return JobError(
            "REDIS_REFUSED",
            f"Redis at {self.place} refuses what the sink writes: {words}. WRONGTYPE means that another kind of value stands under "
            "the key: remove it, or write to other keys. Then resume the job.",
        )


def _library() -> Any:
    try:
        import redis
    except ImportError:
        raise ConfigError(
            "MISSING_PACKAGE",
            "The Redis sink needs the package redis, which is not installed. Run: pip install 'penstock[redis]'",
        ) from None
    return redis
