"""The kinds of servers that can be started. A new one is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.errors import ConfigError
from penstock.servers.kafka import KafkaServer
from penstock.servers.redis import RedisServer
from penstock.servers.server import ServerKind

KINDS: dict[str, Callable[[Mapping[str, str]], ServerKind]] = {
    "kafka": lambda versions: KafkaServer(versions),
    "redis": lambda versions: RedisServer(),
}


def kind_of(name: str, versions: Mapping[str, str] | None = None) -> ServerKind:
    """The kind with this name, with other versions than the table's if some are given.

    >>> kind_of("kafka", {"kafka": "4.1.0"}).version
    '4.1.0'
    """
    if name not in KINDS:
        raise ConfigError(
            "SERVER_UNKNOWN",
            f"There is no server '{name}' to start. There are: {', '.join(KINDS)}; give one of these names.",
        )
    return KINDS[name](versions or {})
