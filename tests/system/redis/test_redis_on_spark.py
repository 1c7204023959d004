"""The Redis sink on Spark: failures do not change the final values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import redis as redis_client
from pyspark.sql import SparkSession

from penstock.connectors import ScriptedSource
from penstock.connectors.redis import RedisMapper, RedisSink
from tests.system.spark.fails_once import CommitFailsOnce
from tests.system.spark.test_jobs import environment
from tests.system.spark.test_restarts import FIXED, STEPS, CountOrFail

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_failed_job_is_started_again(spark: SparkSession, tmp_path: Path, redis: Any) -> None:
    with redis_client.Redis(host=redis.host, port=redis.port, decode_responses=True) as server:
        server.flushdb()
        env = environment(tmp_path, **FIXED, **{"restart-strategy.fixed-delay.attempts": "3"})
        mapper: RedisMapper[Any] = RedisMapper.hash("counts", field=lambda c: c[0], value=lambda c: c[1])
        words = env.from_source(ScriptedSource(STEPS)).key_by(lambda w: w[0])
        counted = words.process(CountOrFail(tmp_path, {("x", 5): 1}))
        counted.sink_to(RedisSink.builder().set_host(redis.host).set_port(redis.port).set_mapper(mapper).build())
        counted.sink_to(CommitFailsOnce(tmp_path / "committed"))  # then Redis has batch 2 already
        env.execute()
        assert (tmp_path / "committed").exists()
        assert server.hgetall("counts") == dict.fromkeys("abcx", "6")
