"""Maps elements to Redis commands, with the names of the Flink Redis connector (Apache Bahir) in Python style."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.errors import ConfigError, UnsupportedOperation, check_enum
from penstock.time import Duration

T = TypeVar("T")
Text = str | bytes | int | float  # Redis stores all of them as bytes
Ttl = Duration | int  # an int is a number of seconds


class RedisCommand(Enum):
    """The commands of the Flink Redis connector.

    Commands that increment or append are not supported, because a batch that runs again would apply them twice.
    """

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
_NESTED = {RedisCommand.HSET, RedisCommand.ZADD, RedisCommand.ZREM}  # commands that write into a hash or sorted set


@dataclass(frozen=True, slots=True)
class RedisCommandDescription:
    """A command, with the name of the hash or sorted set and the time to live that apply to all elements.

    >>> RedisCommandDescription(RedisCommand.HSET, "counts").seconds
    >>> RedisCommandDescription(RedisCommand.SETEX, additional_ttl=Duration.of_minutes(1)).seconds
    60
    """

    command: RedisCommand
    additional_key: str | None = None
    additional_ttl: Ttl | None = None

    def __post_init__(self) -> None:
        check_enum("RedisCommandDescription", self.command, RedisCommand)
        if self.command not in _REPEATABLE:
            raise UnsupportedOperation(
                "REDIS_COMMAND",
                f"The Redis command {self.command.value} is not supported, because a failed batch runs again and would apply it "
                "twice. Count or collect in the job, in a window or in state, and write the result with HSET, SET, SADD or ZADD.",
            )
        _ = self.seconds

    @property
    def seconds(self) -> int | None:
        """The time to live in seconds, or None."""
        return None if self.additional_ttl is None else ttl_seconds(self.additional_ttl)


def ttl_seconds(ttl: Ttl) -> int:
    """Returns a time to live in seconds, rounded up.

    >>> ttl_seconds(Duration.of_millis(1500))
    2
    """
    seconds = ttl if isinstance(ttl, int) else -(-ttl.to_millis() // 1000)
    if isinstance(seconds, bool) or seconds < 1:
        raise ConfigError(
            "REDIS_TTL",
            f"The time to live is {ttl}; Redis expects at least one second. Omit it if values should not expire.",
        )
    return seconds


class RedisMapper(ABC, Generic[T]):
    """Maps elements to keys and values. Write a subclass as for Flink, or use `RedisMapper.hash` or `RedisMapper.string`."""

    deletes = False  # whether a value of None removes the key, or the field of a hash; for SET and HSET

    @abstractmethod
    def get_command_description(self) -> RedisCommandDescription:
        """Returns the command. Called once, when the sink is built."""

    @abstractmethod
    def get_key_from_data(self, data: T) -> Text:
        """Returns the key of an element. For a hash it is the field, for a sorted set the member."""

    @abstractmethod
    def get_value_from_data(self, data: T) -> Text:
        """Returns the value of an element. For a sorted set it is the score."""

    def get_additional_key(self, data: T) -> Text | None:
        """Returns the name of the hash or sorted set of an element, or None to use that of the description."""
        return None

    def get_additional_ttl(self, data: T) -> Ttl | None:
        """Returns the time to live of an element, or None to use that of the description."""
        return None

    @staticmethod
    def hash(
        key: str | Callable[[T], Text], field: Callable[[T], Text], value: Callable[[T], Text], ttl: Ttl | None = None
    ) -> RedisMapper[T]:
        """Returns a mapper that writes fields of hashes (`HSET key field value`).

        `ttl` is the time to live of the complete hash. It starts again with each write.

        >>> counts = RedisMapper.hash(lambda c: c[0], field=lambda c: c[1], value=lambda c: c[2])
        >>> counts.get_additional_key(("campaign-1", 10_000, 7)), counts.get_value_from_data(("campaign-1", 10_000, 7))
        ('campaign-1', 7)
        """
        name, get_name = (key, None) if isinstance(key, str) else (None, key)
        return _FunctionMapper(RedisCommandDescription(RedisCommand.HSET, name, ttl), field, value, get_name)

    @staticmethod
    def string(key: Callable[[T], Text], value: Callable[[T], Text], ttl: Ttl | None = None) -> RedisMapper[T]:
        """Returns a mapper that writes strings (`SET key value`, or `SET key value EX seconds` with a time to live).

        >>> RedisMapper.string(lambda u: u[0], lambda u: u[1], Duration.of_hours(1)).get_command_description().seconds
        3600
        """
        return _FunctionMapper(RedisCommandDescription(RedisCommand.SET, None, ttl), key, value, None)


class _FunctionMapper(RedisMapper[T]):
    """A mapper that consists of functions."""

    def __init__(
        self,
        description: RedisCommandDescription,
        key: Callable[[T], Text],
        value: Callable[[T], Text],
        additional_key: Callable[[T], Text] | None,
    ) -> None:
        self._description = description
        self._key = key
        self._value = value
        self._additional_key = additional_key

    def get_command_description(self) -> RedisCommandDescription:
        return self._description

    def get_key_from_data(self, data: T) -> Text:
        return self._key(data)

    def get_value_from_data(self, data: T) -> Text:
        return self._value(data)

    def get_additional_key(self, data: T) -> Text | None:
        return None if self._additional_key is None else self._additional_key(data)


def check_mapper(mapper: RedisMapper[Any]) -> RedisCommandDescription:
    """Returns the description of a mapper. Raises ConfigError if a key or a time to live is missing."""
    description = mapper.get_command_description()
    overridden = type(mapper).get_additional_key is not RedisMapper.get_additional_key
    if description.command in _NESTED and description.additional_key is None and not overridden:
        raise ConfigError(
            "REDIS_KEY",
            f"{description.command.value} writes into a hash or sorted set, but the mapper does not name one. Pass additional_key "
            "to RedisCommandDescription, or override get_additional_key to return one for each element.",
        )
    overridden = type(mapper).get_additional_ttl is not RedisMapper.get_additional_ttl
    if description.command is RedisCommand.SETEX and description.seconds is None and not overridden:
        raise ConfigError(
            "REDIS_TTL",
            "SETEX writes values that expire, but the mapper has no time to live. Pass additional_ttl to RedisCommandDescription, "
            "or override get_additional_ttl to return one for each element.",
        )
    return description
