"""The kinds of servers that can be started. A new kind is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.devservers.kafka import KafkaServer
from penstock.devservers.postgres import PostgresServer
from penstock.devservers.redis import RedisServer
from penstock.devservers.server import ServerKind
from penstock.errors import ConfigError

KINDS: dict[str, Callable[[Mapping[str, str]], ServerKind]] = {
    "kafka": lambda versions: KafkaServer(versions),
    "postgres": lambda versions: PostgresServer(),
    "redis": lambda versions: RedisServer(),
}


def create_kind(name: str, versions: Mapping[str, str] | None = None) -> ServerKind:
    """Returns the kind with this name. `versions` override the default versions.

    >>> create_kind("kafka", {"kafka": "4.1.0"}).version
    '4.1.0'
    """
    if name not in KINDS:
        raise ConfigError(
            "SERVER_UNKNOWN",
            f"There is no server '{name}'. Available servers: {', '.join(KINDS)}.",
        )
    return KINDS[name](versions or {})
