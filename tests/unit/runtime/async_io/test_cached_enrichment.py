"""cached_enrichment in the harness: lookups, cached answers, and errors."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import PlanError, StateError, UserFunctionError
from penstock.functions.async_retry import NO_RETRY_STRATEGY
from penstock.functions.async_settings import AsyncSettings
from penstock.plan.explain.job_description import describe_job
from penstock.runtime.async_io.event_loop import EventLoop
from penstock.runtime.loop.operator import FunctionRuntimeContext
from penstock.runtime.loop.records import Records, Tags
from penstock.runtime.operators.cached_lookup import CachedLookupOperator
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import StateTables
from penstock.testing import Collected, Harness, PushSource
from tests.unit.runtime.async_io.virtual_time import VirtualClock

NAME = "cached_enrichment"
OPENED: list[Harness] = []  # of the running test


@pytest.fixture(autouse=True)
def check_that_the_loop_ends() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
    assert EventLoop._shared is None


class Numbered(ps.AsyncLookup[str, tuple[str, int]]):
    """Returns the number of earlier lookups of the key, so that a test sees which answer it got."""

    def __init__(self) -> None:
        self.lookups: Counter[str] = Counter()

    async def lookup(self, key: str) -> tuple[str, int]:
        await asyncio.sleep(0.001)
        self.lookups[key] += 1
        return key.upper(), self.lookups[key]


async def picky(key: str) -> str | None:
    await asyncio.sleep(0)
    if key == "bad":
        raise ConnectionError("no answer")
    if key == "slow":
        await asyncio.sleep(60)
    return None if key == "unknown" else key.upper()


def enriched(lookup: Any, saved: bytes | None = None, **options: Any) -> tuple[Harness, Collected, Collected | None]:
    of_harness = {k: options.pop(k) for k in ("parallelism", "batch_mode") if k in options}
    settings = {"ttl": ps.Time.seconds(10), "timeout": ps.Time.seconds(5)} | options
    env = ps.StreamExecutionEnvironment()
    stream = ps.cached_enrichment(env.from_source(PushSource()), first, lookup, **settings)
    harness = Harness(env, **of_harness)
    OPENED.append(harness)
    out = harness.collect(stream)
    dead = harness.collect(stream.get_side_output(ps.DEAD_LETTERS)) if "on_error" in options else None
    return (harness if saved is None else harness.restore(saved)), out, dead


def first(element: tuple[str, int]) -> str:
    return element[0]


def counts(harness: Harness) -> tuple[Any, Any]:
    return harness.metrics.get(NAME, "async.calls"), harness.metrics.get(NAME, "async.calls_saved")


def test_a_key_is_looked_up_once_per_batch_and_not_while_its_answer_is_fresh() -> None:
    harness, out, _ = enriched(Numbered())
    harness.push_all([("a", 1), ("b", 2), ("a", 3)])
    assert out == [(("a", 1), ("A", 1)), (("b", 2), ("B", 1)), (("a", 3), ("A", 1))]
    assert counts(harness) == (2, 1)
    harness.advance_time(9_999)
    harness.push_all([("a", 4), ("c", 5)])
    assert out[3:] == [(("a", 4), ("A", 1)), (("c", 5), ("C", 1))]
    assert counts(harness) == (3, 2)


def test_an_expired_answer_is_looked_up_again() -> None:
    harness, out, _ = enriched(Numbered())
    harness.push(("a", 1))
    harness.advance_time(10_000)
    harness.push(("a", 2))
    assert [answer for _, answer in out] == [("A", 1), ("A", 2)]


def test_reading_does_not_extend_the_time_to_live() -> None:
    harness, out, _ = enriched(Numbered())
    for number in range(4):
        harness.push(("a", number))
        harness.advance_time(4_000)
    assert [answer for _, answer in out] == [("A", 1), ("A", 1), ("A", 1), ("A", 2)]


def test_answers_survive_a_restart_and_another_parallelism() -> None:
    keys = [f"k{n}" for n in range(40)]
    harness, _, _ = enriched(Numbered(), parallelism=2)
    harness.push_all([(key, 0) for key in keys])
    harness, out, _ = enriched(Numbered(), harness.snapshot(), parallelism=3)
    harness.push_all([(key, 1) for key in [*keys, "new"]])
    assert dict(out) == {(key, 1): (key.upper(), 1) for key in [*keys, "new"]}
    assert counts(harness) == (1, 40)


def test_keys_of_a_batch_are_looked_up_concurrently(clock: VirtualClock) -> None:
    async def slowly(key: str) -> str:
        await asyncio.sleep(0.1)
        return key

    harness, out, _ = enriched(slowly)
    harness.push_all([(f"k{n % 100}", n) for n in range(300)])
    assert len(out) == 300
    assert clock.seconds == pytest.approx(0.1)


def test_output_joins_element_and_answer_and_its_annotation_is_the_type() -> None:
    def joined(element: tuple[str, int], answer: str | None) -> str:
        return f"{element[1]}:{answer}"

    env = ps.StreamExecutionEnvironment()
    stream = ps.cached_enrichment(env.from_source(PushSource()), first, picky, 1000, 1000, output=joined)
    assert str(stream.get_type()) == "PythonTypeInfo<str>"
    harness = Harness(env)
    OPENED.append(harness)
    out = harness.collect(stream)
    harness.push_all([("a", 1), ("unknown", 2)])
    assert out == ["1:A", "2:None"]


@pytest.mark.parametrize(("cached", "calls"), [(True, 1), (False, 3)])
def test_none_is_cached_or_not(cached: bool, calls: int) -> None:
    harness, out, _ = enriched(picky, cache_none=cached)
    for number in range(3):
        harness.push_all([("unknown", number), ("unknown", number)])
    assert [answer for _, answer in out] == [None] * 6
    assert counts(harness) == (calls, 6 - calls)


def test_an_error_fails_the_job_and_names_key_and_element() -> None:
    harness, out, _ = enriched(picky)
    with pytest.raises(UserFunctionError, match="no answer") as caught:
        harness.push_all([("a", 1), ("bad", 2), ("b", 3)])
    failed = caught.value.failed
    assert failed is not None
    assert (failed.name, failed.key, failed.element, failed.function) == (NAME, "'bad'", "('bad', 2)", "picky")
    harness.push(("a", 1))
    assert out == [(("a", 1), "A")]
    assert counts(harness) == (1, 0)  # the failed batch was neither stored nor counted


def test_elements_of_keys_without_an_answer_become_dead_letters_and_other_answers_are_stored() -> None:
    harness, out, dead = enriched(picky, timeout=ps.Time.milliseconds(50), on_error="dead_letter")
    harness.push_all([("bad", 1), ("a", 2), ("slow", 3), ("bad", 4), ("b", 5)])
    assert dead is not None
    assert [(d.element, d.key, d.error) for d in dead] == [
        (("bad", 1), "bad", "ConnectionError"),
        (("slow", 3), "slow", "TimeoutError"),
        (("bad", 4), "bad", "ConnectionError"),
    ]
    assert out == [(("a", 2), "A"), (("b", 5), "B")]
    assert counts(harness) == (4, 1)
    harness.push_all([("a", 6), ("b", 7), ("bad", 8)])  # an error is not stored
    assert counts(harness) == (5, 3)


def test_an_output_function_that_raises_does_not_drop_answers() -> None:
    def broken(element: tuple[str, int], answer: str | None) -> str:
        if element[1] == 0:
            raise ValueError("zero")
        return str(answer)

    harness, out, dead = enriched(picky, output=broken, on_error="dead_letter")
    harness.push_all([("b", 0), ("a", 1)])
    harness.push_all([("b", 2), ("a", 3)])
    assert dead is not None
    assert [d.element for d in dead] == [("b", 0)]
    assert out == ["A", "B", "A"]
    assert counts(harness) == (2, 2)


def test_retries() -> None:
    class Flaky(ps.AsyncLookup[str, int]):
        def __init__(self) -> None:
            self.lookups: Counter[str] = Counter()

        async def lookup(self, key: str) -> int:
            self.lookups[key] += 1
            if self.lookups[key] < 3:
                raise ConnectionError
            return self.lookups[key]

    harness, out, _ = enriched(Flaky(), retry=ps.AsyncRetryStrategy.fixed_delay(5, 2, None, lambda error: True))
    harness.push_all([("a", 1), ("b", 2)])
    assert [answer for _, answer in out] == [3, 3]
    assert harness.metrics.get(NAME, "async.retries") == 4


def test_in_batch_mode_every_key_is_looked_up_once() -> None:
    harness, out, _ = enriched(Numbered(), batch_mode=True, parallelism=2)
    harness.push_all([("a", 1), ("b", 2)])
    harness.push_all([("a", 3)])
    harness.end()
    assert sorted(out) == [(("a", 1), ("A", 1)), (("a", 3), ("A", 1)), (("b", 2), ("B", 1))]
    assert counts(harness) == (2, 1)


def test_in_batch_mode_a_key_that_continues_in_the_next_part_is_not_looked_up_again() -> None:
    backend = KeyedStateStore(Store(MemoryView()), StateTables(), "cached", KeyTable(128))
    runtime = FunctionRuntimeContext(
        uid="cached",
        name="cached",
        index=0,
        parallelism=1,
        max_parallelism=128,
        parameters={},
        backend=backend,
        in_batch_mode=True,
    )
    service = Numbered()
    operator = CachedLookupOperator(
        service,
        AsyncSettings(5000, 10, NO_RETRY_STRATEGY),
        1000,
        lambda element, answer: answer,
        caches_none=True,
        answer_type=None,
        fail_fast=True,
    )
    context: Any = SimpleNamespace(backend=backend, runtime=runtime)
    operator.open(context)
    for keys in (["a", "b"], ["b", "b", "c"]):
        none = np.zeros(len(keys), np.int64)
        operator.prepare(Records(keys, keys, None, none, Tags(none, none, none, none, none, none)))
    assert service.lookups == {"a": 1, "b": 1, "c": 1}
    operator.close()


def test_mutable_answers_are_not_shared_between_elements() -> None:
    async def empty(key: str) -> dict[str, int]:
        return {}

    def filled(pair: tuple[tuple[str, int], dict[str, int]]) -> dict[str, int]:
        (key, number), answer = pair
        answer[key] = answer.get(key, 0) + number
        return answer

    env = ps.StreamExecutionEnvironment()
    stream = ps.cached_enrichment(env.from_source(PushSource()), first, empty, 1000, 1000).map(filled)
    harness = Harness(env)
    OPENED.append(harness)
    out = harness.collect(stream)
    harness.push_all([("a", 1), ("a", 2)])
    harness.push_all([("a", 3)])
    assert out == [{"a": 1}, {"a": 2}, {"a": 3}]


@settings(max_examples=25)
@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=8), max_size=6),
    st.lists(st.integers(0, 12_000), min_size=6, max_size=6),
    st.integers(1, 3),
)
def test_answers_equal_those_of_a_simple_cache(batches: list[list[str]], pauses: list[int], parallelism: int) -> None:
    harness, out, _ = enriched(Numbered(), parallelism=parallelism)
    cache: dict[str, tuple[int, int]] = {}  # when it was lookups, how often
    expected, calls, saved = [], 0, 0
    for keys, pause in zip(batches, pauses, strict=False):
        harness.advance_time(pause)
        harness.push_all([(key, 0) for key in keys])
        for key in keys:
            if key not in cache or cache[key][0] + 10_000 <= harness.time:
                cache[key] = harness.time, cache.get(key, (0, 0))[1] + 1
                calls += 1
            else:
                saved += 1
            expected.append((key, cache[key][1]))
    assert Counter((element[0], answer[1]) for element, answer in out) == Counter(expected)
    assert (counts(harness)[0] or 0, counts(harness)[1] or 0) == (calls, saved)
    OPENED.pop().close()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"ttl": 0}, "CACHE_TTL"),
        ({"ttl": ps.Time.seconds(-1)}, "CACHE_TTL"),
        ({"timeout": 0}, "ASYNC_TIMEOUT"),
        ({"capacity": 0}, "ASYNC_CAPACITY"),
        ({"retry": 3}, "RETRY_STRATEGY"),
        ({"output": 3}, "FUNCTION_TYPE"),
        ({"async_lookup": len}, "NOT_A_COROUTINE_FUNCTION"),
        ({"async_lookup": Numbered}, "FUNCTION_TYPE"),
        ({"key_selector": 3}, "FUNCTION_TYPE"),
    ],
)
def test_mistakes(options: dict[str, Any], code: str) -> None:
    env = ps.StreamExecutionEnvironment()
    given: dict[str, Any] = {"key_selector": first, "async_lookup": picky, "ttl": 1000, "timeout": 1000} | options
    call: Callable[..., Any] = ps.cached_enrichment
    with pytest.raises(PlanError) as caught:
        call(env.from_source(PushSource()), **given)
    assert caught.value.code == code


@dataclass(frozen=True)
class Customer:
    name: str
    orders: int


async def customer(key: str) -> Customer | None:
    return None if key == "nobody" else Customer(key.upper(), "3" if key == "wrong" else 3)  # type: ignore[arg-type]


def test_answers_of_a_declared_type() -> None:
    harness, out, _ = enriched(customer, answer_type=Customer)
    harness.push_all([("a", 1), ("nobody", 2)])
    harness, out, _ = enriched(customer, harness.snapshot(), answer_type=Customer)
    harness.push_all([("a", 3), ("nobody", 4)])
    assert [answer for _, answer in out] == [Customer("A", 3), None]
    assert counts(harness) == (0, 2)
    with pytest.raises(StateError, match=r"answer.*orders"):
        harness.push(("wrong", 5))


def test_explain() -> None:
    env = ps.StreamExecutionEnvironment()
    lookups = ps.AsyncDataStream.ordered_wait(env.from_source(PushSource()), Echo(), ps.Time.seconds(5), 50)
    ps.cached_enrichment(lookups, first, picky, ps.Time.minutes(1), 1000).print()
    wait, cached = [step.details() for step in describe_job(env.graph("job")).steps[1:3]]
    assert wait == ["at most 50 calls at once, each within 5000 ms"]
    assert cached[0] == "answers cached for 60000 ms, at most 100 calls at once, each within 1000 ms"
    assert cached[-1] == "state answer"


class Echo(ps.AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]
