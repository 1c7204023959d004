"""The Redis sink, which writes hashes, strings, sets and sorted sets. Requires `penstock[redis]`."""

from penstock.connectors.redis.mapper import RedisCommand, RedisCommandDescription, RedisMapper
from penstock.connectors.redis.sink import RedisSink

__all__ = ["RedisCommand", "RedisCommandDescription", "RedisMapper", "RedisSink"]
