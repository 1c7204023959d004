"""What is written to Redis for an element: names of Flink's Redis connector (Apache Bahir), in Python's style."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.errors import ConfigError, UnsupportedOperation
from penstock.time import Duration

T = TypeVar("T")
Text = str | bytes | int | float  # what Redis takes: it keeps all of them as bytes
Ttl = Duration | int  # a number is seconds


class RedisCommand(Enum):
    """The commands of Flink's connector. Those that add to what is there cannot be used: a repeated batch adds again."""

    HSET = "HSET"
    SET = "SET"
    SETEX = "SETEX"
    SADD = "SADD"
    ZADD = "ZADD"
    ZREM = "ZREM"
    PFADD = "PFADD"
    LPUSH = "LPUSH"
    RPUSH = "RPUSH"
    PUBLISH = "PUBLISH"
    ZINCRBY = "ZINCRBY"
    HINCRBY = "HINCRBY"
    INCRBY = "INCRBY"
    INCRBY_EX = "INCRBY_EX"
    DECRBY = "DECRBY"
    DECRBY_EX = "DECRBY_EX"


_REPEATABLE = {
    RedisCommand.HSET,
    RedisCommand.SET,
    RedisCommand.SETEX,
    RedisCommand.SADD,
    RedisCommand.ZADD,
    RedisCommand.ZREM,
    RedisCommand.PFADD,
}
_WITHIN = {RedisCommand.HSET, RedisCommand.ZADD, RedisCommand.ZREM}  # what is written is a part of a named whole


@dataclass(frozen=True, slots=True)
class RedisCommandDescription:
    """A command, and what all elements share: the name of the hash or sorted set, and how long what is written stays.

    >>> RedisCommandDescription(RedisCommand.HSET, "counts").seconds
    >>> RedisCommandDescription(RedisCommand.SETEX, additional_ttl=Duration.of_minutes(1)).seconds
    60
    """

    command: RedisCommand
    additional_key: str | None = None
    additional_ttl: Ttl | None = None

    def __post_init__(self) -> None:
        if self.command not in _REPEATABLE:
            raise UnsupportedOperation(
                "REDIS_COMMAND",
                f"The Redis command {self.command.value} was asked for. It does something again each time it runs, and a batch "
                "that failed runs again. Count or collect in the job, in a window or in state, and write the result by HSET, "
                "SET, SADD or ZADD.",
            )
        _ = self.seconds

    @property
    def seconds(self) -> int | None:
        """How long what is written stays, in seconds."""
        return None if self.additional_ttl is None else seconds_of(self.additional_ttl)


def seconds_of(ttl: Ttl) -> int:
    """A time to live as Redis takes it: in whole seconds, at least one.

    >>> seconds_of(Duration.of_millis(1500))
    2
    """
    seconds = ttl if isinstance(ttl, int) else -(-ttl.to_millis() // 1000)
    if isinstance(seconds, bool) or seconds < 1:
        raise ConfigError(
            "REDIS_TTL", f"A time to live of {ttl} was given. Redis takes one second or more; leave it out for ever."
        )
    return seconds


class RedisMapper(ABC, Generic[T]):
    """Turns elements into what is written. Write a subclass as for Flink, or take `hash` or `string`."""

    @abstractmethod
    def get_command_description(self) -> RedisCommandDescription:
        """The command; asked for once, when the sink is made."""

    @abstractmethod
    def get_key_from_data(self, data: T) -> Text:
        """The key of an element; of a hash the field, of a sorted set the member."""

    @abstractmethod
    def get_value_from_data(self, data: T) -> Text:
        """The value of an element; of a sorted set the score."""

    def get_additional_key(self, data: T) -> Text | None:
        """The name of the hash or sorted set of an element; None: the description's."""
        return None

    def get_additional_ttl(self, data: T) -> Ttl | None:
        """How long what is written for an element stays; None: as the description says."""
        return None

    @staticmethod
    def hash(
        key: str | Callable[[T], Text], field: Callable[[T], Text], value: Callable[[T], Text], ttl: Ttl | None = None
    ) -> RedisMapper[T]:
        """Writes fields of hashes: `HSET key field value`. `ttl` is that of the whole hash, anew with each write.

        >>> counts = RedisMapper.hash(lambda c: c[0], field=lambda c: c[1], value=lambda c: c[2])
        >>> counts.get_additional_key(("campaign-1", 10_000, 7)), counts.get_value_from_data(("campaign-1", 10_000, 7))
        ('campaign-1', 7)
        """
        name, of = (key, None) if isinstance(key, str) else (None, key)
        return _Chosen(RedisCommandDescription(RedisCommand.HSET, name, ttl), field, value, of)

    @staticmethod
    def string(key: Callable[[T], Text], value: Callable[[T], Text], ttl: Ttl | None = None) -> RedisMapper[T]:
        """Writes plain values: `SET key value`, and with a time to live `SET key value EX seconds`.

        >>> RedisMapper.string(lambda u: u[0], lambda u: u[1], Duration.of_hours(1)).get_command_description().seconds
        3600
        """
        return _Chosen(RedisCommandDescription(RedisCommand.SET, None, ttl), key, value, None)


class _Chosen(RedisMapper[T]):
    """A mapper made of functions."""

    def __init__(
        self,
        description: RedisCommandDescription,
        key: Callable[[T], Text],
        value: Callable[[T], Text],
        whole: Callable[[T], Text] | None,
    ) -> None:
        self._description = description
        self._key = key
        self._value = value
        self._whole = whole

    def get_command_description(self) -> RedisCommandDescription:
        return self._description

    def get_key_from_data(self, data: T) -> Text:
        return self._key(data)

    def get_value_from_data(self, data: T) -> Text:
        return self._value(data)

    def get_additional_key(self, data: T) -> Text | None:
        return None if self._whole is None else self._whole(data)


def check(mapper: RedisMapper[Any]) -> RedisCommandDescription:
    """What a mapper says, refused where it cannot be written."""
    description = mapper.get_command_description()
    own = type(mapper).get_additional_key is not RedisMapper.get_additional_key
    if description.command in _WITHIN and description.additional_key is None and not own:
        raise ConfigError(
            "REDIS_KEY",
            f"{description.command.value} writes into a hash or sorted set, and the mapper names none. Give its name to "
            "RedisCommandDescription, or let get_additional_key give one for each element.",
        )
    own = type(mapper).get_additional_ttl is not RedisMapper.get_additional_ttl
    if description.command is RedisCommand.SETEX and description.seconds is None and not own:
        raise ConfigError(
            "REDIS_TTL",
            "SETEX writes values that expire, and the mapper says not when. Give RedisCommandDescription an additional_ttl, or "
            "let get_additional_ttl give one for each element.",
        )
    return description
