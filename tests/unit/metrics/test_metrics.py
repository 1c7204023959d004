"""Metrics of user functions are summed over subtasks and committed batches."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

import penstock as ps
from penstock.errors import PlanError, UserFunctionError
from penstock.metrics import JobMetrics
from penstock.metrics.registry import SubtaskMetrics
from penstock.metrics.values import CounterValue, DistributionValue, GaugeValue, MeterValue, OperatorMetrics
from penstock.spark.report.run_folder import RunFolder
from penstock.testing import Harness, PushSource


class Measured(ps.MapFunction):
    """Fails at the value 13, after counting it."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        group = runtime_context.get_metrics_group().add_group("shop").add_group("region", "north")
        self.seen = group.counter("seen")
        self.sizes = group.distribution("sizes")
        self.rate = group.meter("rate", 10)
        self.last = 0
        group.gauge("last", lambda: self.last)

    def map(self, value: int) -> int:
        self.seen.inc()
        self.sizes.update(value)
        self.rate.mark_event(2)
        self.last = value
        if value == 13:
            raise ValueError("unlucky")
        return self.seen.get_count()


def measured_job(keyed: bool, parallelism: int = 1) -> tuple[Harness, Any]:
    env = ps.StreamExecutionEnvironment().set_parallelism(parallelism)
    stream: Any = env.from_source(PushSource())
    harness = Harness(env)
    out = harness.collect((stream.key_by(lambda n: n) if keyed else stream).map(Measured()).name("look"))
    return harness, out


@pytest.mark.parametrize("keyed", [False, True])
def test_metrics_are_summed_over_batches(keyed: bool) -> None:
    harness, _ = measured_job(keyed)
    harness.push_all([5, 1])
    harness.push(9)
    metrics = harness.metrics
    assert metrics.get("look", "shop.region.north.seen") == 3
    assert metrics.get("look", "shop.region.north.sizes") == {"count": 3, "sum": 15, "min": 1, "max": 9, "mean": 5.0}
    assert metrics.get("look", "shop.region.north.rate") == 6
    assert metrics.get("look", "shop.region.north.last") == 9
    assert metrics.get("look", "nothing") is None
    assert metrics.accumulators()["look.shop.region.north.seen"] == 3


def test_operators_with_the_same_name_are_labelled_by_uid() -> None:
    env = ps.StreamExecutionEnvironment()
    stream: Any = env.from_source(PushSource())
    harness = Harness(env)
    first = stream.map(Measured()).name("look").uid("first")
    harness.collect(first.filter(lambda n: n > 1).map(Measured()).name("look").uid("second"))
    harness.push_all([1, 5])
    accumulators = harness.metrics.accumulators()
    assert accumulators["look (first).shop.region.north.seen"] == 2
    assert accumulators["look (second).shop.region.north.seen"] == 1
    assert "look.shop.region.north.seen" not in accumulators
    assert harness.metrics.get("second", "shop.region.north.seen") == 1
    assert harness.metrics.get("look", "shop.region.north.seen") == 3


@pytest.mark.parametrize("keyed", [False, True])
def test_a_failed_batch_is_not_counted(keyed: bool) -> None:
    harness, out = measured_job(keyed)
    harness.push_all([1, 2])
    with pytest.raises(UserFunctionError):
        harness.push_all([3, 13])
    harness.push(4)
    assert harness.metrics.get("look", "shop.region.north.seen") == 3
    assert harness.metrics.get("look", "shop.region.north.sizes")["sum"] == 7
    assert harness.metrics.get("look", "shop.region.north.rate") == 6
    assert out == [1, 2, 3]  # get_count excludes the failed attempt


def test_all_operators_roll_back_when_one_fails() -> None:
    """The first operator finishes its batch, then the second one fails. Both are rolled back."""
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    first = env.from_source(PushSource()).key_by(lambda n: n).map(Measured()).name("look")
    out = harness.collect(first.key_by(lambda n: n).map(lambda n: n if n != 2 else 1 // 0))
    harness.push(1)
    with pytest.raises(UserFunctionError):
        harness.push(2)
    assert harness.metrics.get("look", "shop.region.north.seen") == 1
    with pytest.raises(UserFunctionError):
        harness.push(3)  # counts as the second again, so it fails again
    assert out == [1]


def test_subtasks_are_stored_separately_and_summed() -> None:
    harness, _ = measured_job(True, parallelism=3)
    harness.push_all(range(20, 50))
    (subtasks,) = harness.metrics.subtasks.values()
    assert len(subtasks) == 3
    counts = [values["shop.region.north.seen"] for values in subtasks.values()]
    assert all(isinstance(c, CounterValue) and 0 < c.count < 30 for c in counts)
    assert harness.metrics.get("look", "shop.region.north.seen") == 30
    assert len(harness.metrics.get("look", "shop.region.north.last")) == 3


def test_the_rate_of_a_meter_covers_its_time_span() -> None:
    metrics = SubtaskMetrics("look")
    meter = metrics.group().meter("events", time_span_in_seconds=10)

    def batch(now: int, events: int) -> Any:
        metrics.begin()
        meter.mark_event(events)
        return metrics.take(now).values["events"]

    assert batch(0, 10) == MeterValue(10, 1.0)
    assert batch(5_000, 10) == MeterValue(10, 1.0)
    assert batch(10_000, 0) == MeterValue(0, 1.0)
    assert batch(15_000, 0) == MeterValue(0, 0.0)
    assert meter.get_count() == 20


def test_counts_in_open_belong_to_the_first_batch() -> None:
    metrics = SubtaskMetrics("look")
    opened = metrics.group().counter("opened")
    opened.inc()
    metrics.begin()
    opened.dec(3)
    assert metrics.take(0).values == {"opened": CounterValue(-2)}


def test_an_unfinished_attempt_is_discarded() -> None:
    metrics = SubtaskMetrics("look")
    seen = metrics.group().counter("seen")
    metrics.begin()
    seen.inc()
    metrics.begin()
    seen.inc()
    assert metrics.take(0).values == {"seen": CounterValue(1)}


def test_a_failing_gauge_does_not_fail_the_job(caplog: pytest.LogCaptureFixture) -> None:
    metrics = SubtaskMetrics("look")
    metrics.group().gauge("broken", lambda: 1 // 0)
    with caplog.at_level(logging.WARNING):
        assert metrics.take(0).values == {"broken": GaugeValue(None)}
    assert "Gauge 'broken' raised ZeroDivisionError" in caplog.text


def test_a_name_identifies_one_metric() -> None:
    group = SubtaskMetrics("look").group()
    assert group.counter("seen") is group.counter("seen")
    with pytest.raises(PlanError, match=r"\[METRIC_NAME\] Operator 'look' registers metric 'seen' twice"):
        group.meter("seen")


def test_a_repeated_commit_is_counted_once(tmp_path: Any) -> None:
    folder = RunFolder(tmp_path)

    def delta(count: int) -> Any:
        return [(0, {"u": OperatorMetrics("look", {"seen": CounterValue(count)})})]

    folder.add_metrics(0, delta(1))
    folder.add_metrics(1, delta(10))
    folder.add_metrics(1, delta(10))
    assert folder.metrics().get("look", "seen") == 11
    folder.add_metrics(2, [])
    folder.add_metrics(3, delta(100))
    assert folder.metrics().get("look", "seen") == 111


def test_no_file_without_metrics(tmp_path: Any) -> None:
    folder = RunFolder(tmp_path)
    folder.add_metrics(0, [(0, {})])
    assert list(tmp_path.iterdir()) == []
    assert folder.metrics() == JobMetrics()


def test_totals_round_trip_through_json() -> None:
    totals = JobMetrics()
    values = {
        "c": CounterValue(1),
        "m": MeterValue(2, 0.5),
        "g": GaugeValue("x"),
        "d": DistributionValue(1, 2.5, 2.5, 2.5),
    }
    totals.add([(3, {"u": OperatorMetrics("look", values)})])  # type: ignore[arg-type]
    assert msgspec.json.decode(msgspec.json.encode(totals), type=JobMetrics) == totals
