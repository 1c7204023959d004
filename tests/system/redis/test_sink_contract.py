"""Contract tests of the Redis sink, which does not hide uncommitted values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import redis as redis_client

from penstock.connectors import Sink
from penstock.connectors.redis import RedisMapper, RedisSink
from penstock.testing import SinkContract
from tests.servers import Redis


class TestRedis(SinkContract):
    hidden_until_commit = False
    keeps_order = False

    @pytest.fixture(autouse=True)
    def _server(self, redis: Redis) -> None:
        self.redis = redis

    def make_sink(self, folder: Path) -> Sink:
        mapper: RedisMapper[Any] = RedisMapper.hash(str(folder), field=lambda pair: pair[0], value=lambda pair: pair[1])
        return RedisSink.builder().set_host(self.redis.host).set_port(self.redis.port).set_mapper(mapper).build()

    def element(self, number: int) -> Any:
        return f"field-{number}", f"value-{number}"

    def visible(self, folder: Path) -> list[Any]:
        with redis_client.Redis(self.redis.host, self.redis.port, decode_responses=True) as client:
            fields: Any = client.hgetall(str(folder))
            return list(fields.items())
