"""The Redis sink with a real server: values, repeated batches, errors."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis as redis_client

from penstock import Duration, StreamExecutionEnvironment
from penstock.connectors import WriteTask
from penstock.connectors.redis import RedisCommand, RedisCommandDescription, RedisMapper, RedisSink
from penstock.errors import ConfigError, ElementError, JobError, PenstockError, UnsupportedOperation
from penstock.testing import Harness

Count = tuple[str, int, int]  # campaign, start of the window, count


@pytest.fixture
def server(redis: Any) -> Iterator[redis_client.Redis]:
    client = redis_client.Redis(host=redis.host, port=redis.port, decode_responses=True)
    client.flushdb()
    yield client
    client.close()


@pytest.fixture
def sink_of(redis: Any) -> Callable[[RedisMapper[Any]], RedisSink]:
    return lambda mapper: builder(redis).set_mapper(mapper).build()


def builder(redis: Any) -> RedisSink.Builder:
    return RedisSink.builder().set_host(redis.host).set_port(redis.port)


def counts(ttl: Duration | None = None) -> RedisMapper[Count]:
    return RedisMapper.hash(key=lambda c: c[0], field=lambda c: c[1], value=lambda c: c[2], ttl=ttl)


def write(sink: RedisSink, *parts: list[Any], batch: int = 0) -> None:
    writer = sink.writer(WriteTask(batch, 0, "a"))
    for values in parts:
        writer.write(values, None, None)
    sink.commit(batch, [writer.prepare()])


def test_fields_of_hashes(server: redis_client.Redis, sink_of: Any) -> None:
    write(sink_of(counts()), [("c1", 0, 3), ("c2", 0, 1)], [("c1", 10, 5), ("c1", 0, 4)])
    assert server.hgetall("c1") == {"0": "4", "10": "5"}
    assert server.hgetall("c2") == {"0": "1"}
    assert server.ttl("c1") == -1


def test_repeated_batch_has_the_same_result(server: redis_client.Redis, sink_of: Any) -> None:
    sink = sink_of(counts())
    write(sink, [("c1", 0, 3)])
    before = [("c1", 0, 4), ("c1", 10, 1), ("c1", 0, 6)]
    for _ in range(2):
        write(sink, before, batch=1)
        assert server.hgetall("c1") == {"0": "6", "10": "1"}


def test_values_are_buffered_until_the_task_ends_or_the_buffer_is_full(
    server: redis_client.Redis, sink_of: Any
) -> None:
    writer = sink_of(counts()).writer(WriteTask(0, 0, "a"))
    writer.write([("few", i, i) for i in range(100)], None, None)
    assert not server.exists("few")
    writer.abort()
    writer.prepare()
    assert not server.exists("few")
    writer.write([("many", i, i) for i in range(30_000)], None, None)
    writer.write([("many", 5, -1)], None, None)
    assert server.hlen("many") == 30_000
    writer.prepare()
    assert server.hget("many", "5") == "-1"


def test_hashes_with_a_time_to_live(server: redis_client.Redis, sink_of: Any) -> None:
    write(sink_of(counts(Duration.of_minutes(2))), [("c1", 0, 3)])
    assert 100 < server.ttl("c1") <= 120


def test_strings_with_and_without_a_time_to_live(server: redis_client.Redis, sink_of: Any) -> None:
    write(sink_of(RedisMapper.string(lambda p: p[0], lambda p: p[1], 60)), [("a", 1), ("b", b"\xff"), ("a", 2.5)])
    assert server.get("a") == "2.5"
    assert 50 < server.ttl("a") <= 60
    write(sink_of(RedisMapper.string(lambda p: p[0], lambda p: p[1])), [("a", "x")])
    assert (server.get("a"), server.ttl("a")) == ("x", -1)


class Scores(RedisMapper[tuple[str, float]]):
    """A mapper as for Flink."""

    def __init__(self, command: RedisCommand) -> None:
        self._command = command

    def get_command_description(self) -> RedisCommandDescription:
        return RedisCommandDescription(self._command, "scores")

    def get_key_from_data(self, data: tuple[str, float]) -> str:
        return data[0]

    def get_value_from_data(self, data: tuple[str, float]) -> float:
        return data[1]


def test_sorted_sets(server: redis_client.Redis, sink_of: Any) -> None:
    write(sink_of(Scores(RedisCommand.ZADD)), [("ann", 3.0), ("bob", 1.0), ("ann", 2.0)])
    assert server.zrange("scores", 0, -1, withscores=True) == [("bob", 1.0), ("ann", 2.0)]
    write(sink_of(Scores(RedisCommand.ZREM)), [("bob", 0.0)])
    assert server.zrange("scores", 0, -1) == ["ann"]


def test_sets(server: redis_client.Redis, sink_of: Any) -> None:
    write(sink_of(Scores(RedisCommand.SADD)), [("ann", 3.0), ("bob", 1.0), ("ann", 2.0)])
    assert server.smembers("ann") == {"3.0", "2.0"}
    write(sink_of(Scores(RedisCommand.PFADD)), [("visits", 3.0), ("visits", 1.0), ("visits", 3.0)])
    assert server.pfcount("visits") == 2


class PerElementTtl(Scores):
    def get_additional_ttl(self, data: tuple[str, float]) -> int | None:
        return int(data[1]) or None


def test_time_to_live_per_element(server: redis_client.Redis, sink_of: Any) -> None:
    write(sink_of(PerElementTtl(RedisCommand.SET)), [("short", 10.0), ("long", 100.0), ("once", 10.0), ("once", 0.0)])
    assert server.ttl("short") <= 10 < server.ttl("long") <= 100
    assert server.ttl("once") == -1


def test_a_job_writes_what_its_windows_count(server: redis_client.Redis, sink_of: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([("a", 0, 1), ("b", 0, 2), ("a", 0, 5), ("b", 10, 7)])
    numbers.key_by(lambda c: c[0]).reduce(lambda x, y: (y[0], y[1], x[2] + y[2])).sink_to(sink_of(counts()))
    Harness(env, real_sinks=True).run()
    assert server.hgetall("a") == {"0": "6"}
    assert server.hgetall("b") == {"0": "2", "10": "9"}


def test_connection_of_a_sink_is_not_pickled(server: redis_client.Redis, sink_of: Any) -> None:
    sink = sink_of(Scores(RedisCommand.SET))
    write(sink, [("a", 1.0)])
    write(pickle.loads(pickle.dumps(sink)), [("b", 1.0)])
    assert server.mget("a", "b") == ["1.0", "1.0"]


# -- errors


def failure(sink: RedisSink, value: Any = ("c", 0, 1)) -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        write(sink, [value])
    return caught.value


def test_an_unreachable_server(redis: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = failure(RedisSink.builder().set_host("127.0.0.1").set_port(port).set_mapper(counts()).build())
    assert (error.code, type(error)) == ("REDIS_UNREACHABLE", JobError)
    assert f"127.0.0.1:{port}" in str(error)
    assert "set_port" in str(error)


@pytest.mark.parametrize("password", ["hunter2-secret", None])
def test_wrong_password_is_not_in_the_error(server: redis_client.Redis, redis: Any, password: str | None) -> None:
    server.acl_setuser("writer", enabled=True, passwords=["+right"], keys=["*"], commands=["-@all", "+hset", "+select"])
    sink_builder = builder(redis).set_mapper(counts()).set_user("writer")
    error = failure((sink_builder if password is None else sink_builder.set_password(password)).build())
    assert error.code == "REDIS_AUTHENTICATION"
    assert "set_password" in str(error)
    for caught in (str(error), repr(vars(sink_builder.build()))):
        assert "hunter2" not in caught
    write(builder(redis).set_mapper(counts()).set_user("writer").set_password("right").build(), [("c", 0, 1)])
    assert server.hget("c", "0") == "1"


def test_user_without_permission(server: redis_client.Redis, redis: Any) -> None:
    server.acl_setuser("reader", enabled=True, passwords=["+right"], keys=["*"], commands=["-@all", "+get", "+select"])
    error = failure(builder(redis).set_mapper(counts()).set_user("reader").set_password("right").build())
    assert error.code == "REDIS_AUTHENTICATION"
    assert "ACL" in str(error)


def test_key_with_another_type_of_value(server: redis_client.Redis, sink_of: Any) -> None:
    server.set("c", "text")
    error = failure(sink_of(counts()))
    assert (error.code, type(error)) == ("REDIS_REFUSED", JobError)
    assert "WRONGTYPE" in str(error)


def test_error_of_an_unsupported_value_contains_the_element(sink_of: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([("a", 0, None)]).sink_to(sink_of(counts())).name("campaigns")
    with pytest.raises(ElementError, match=r"campaigns.*\('a', 0, None\)") as caught:
        Harness(env, real_sinks=True).run()
    assert caught.value.code == "REDIS_VALUE"


def test_commands_that_increment_or_append_are_rejected() -> None:
    with pytest.raises(UnsupportedOperation, match=r"INCRBY.*runs again"):
        RedisCommandDescription(RedisCommand.INCRBY)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: RedisSink.builder().build(), "REDIS_MAPPER"),
        (lambda: RedisSink.builder().set_mapper(Scores(RedisCommand.SETEX)).build(), "REDIS_TTL"),
        (lambda: RedisMapper.string(str, str, Duration.of_millis(0)), "REDIS_TTL"),
        (lambda: RedisSink.builder().set_url("http://localhost"), "REDIS_URL"),
    ],
)
def test_incomplete_settings(make: Any, code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make()
    assert caught.value.code == code


class Nameless(Scores):
    def get_command_description(self) -> RedisCommandDescription:
        return RedisCommandDescription(RedisCommand.HSET)


def test_a_hash_without_a_name() -> None:
    with pytest.raises(ConfigError, match="get_additional_key"):
        RedisSink.builder().set_mapper(Nameless(RedisCommand.HSET)).build()


def test_url(server: redis_client.Redis, redis: Any) -> None:
    server.acl_setuser("url", enabled=True, passwords=["+p@ss"], keys=["*"], commands=["+@all"])
    sink = RedisSink.builder().set_url(f"redis://url:p%40ss@{redis.host}:{redis.port}/3").set_mapper(counts()).build()
    write(sink, [("c", 0, 1)])
    assert not server.exists("c")
    with redis_client.Redis(host=redis.host, port=redis.port, db=3, decode_responses=True) as third:
        assert third.hget("c", "0") == "1"
        third.flushdb()
