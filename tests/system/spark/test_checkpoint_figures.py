"""The checkpoint statistics of a job on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from penstock.connectors import CollectSink, DataGeneratorSource
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.registry import registry_of
from tests.waiting import until

pytestmark = pytest.mark.spark


class Seen(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ps.ValueStateDescriptor("seen", int))

    def process_element(self, value: tuple[str, int], ctx: ps.KeyedProcessFunction.Context) -> list[tuple[str, int]]:
        self.seen.update((self.seen.value() or 0) + 1)
        return [value]


class Blocking(Seen):
    """Waits for a file at one element. Its state has always the same size."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def process_element(self, value: tuple[str, int], ctx: ps.KeyedProcessFunction.Context) -> list[tuple[str, int]]:
        if value[1] == 3500:
            until(self._file.exists)
        self.seen.update(value[1] % 100)
        return [value]


def test_a_checkpoint_in_progress_has_the_numbers_of_the_finished_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    env = ps.StreamExecutionEnvironment.get_execution_environment(
        ps.Configuration({"parallelism.default": 2, "execution.checkpointing.dir": str(tmp_path / "checkpoints")})
    )
    numbers = DataGeneratorSource(lambda i: (f"key {i % 10}", i), 9000, records_per_batch=1000)
    orders = env.from_source(numbers, ps.WatermarkStrategy.no_watermarks(), "orders")
    orders.key_by(lambda v: v[0]).process(Blocking(tmp_path / "go")).sink_to(CollectSink())
    client = env.execute_async("figures")
    history = CheckpointHistory(registry_of().job_folder(str(client.get_job_id())))
    until(lambda: history.latest() and any(u.level == 1 for u in history.latest()[-1].waits_for))
    current = history.latest()[-1]
    (tmp_path / "go").touch()
    client.get_job_execution_result().result()
    checkpoints = history.latest()
    [finished] = [c for c in checkpoints if c.id == current.id]
    assert finished.status == "completed"
    assert current.all_tasks == finished.all_tasks
    assert current.acknowledged_tasks + len(current.waits_for) <= finished.all_tasks
    assert {(u.level, u.slot) for u in current.waits_for} <= {(1, 0), (1, 1)}
    assert current.triggered == finished.triggered
    live = [c.state_bytes for c in checkpoints if c.records]
    assert len(live) == 9
    assert set(live[1:]) == {live[-1]}, "the state does not grow"
    log = [c.state_log_bytes for c in checkpoints if c.records]
    assert log == sorted(set(log)), "the log grows until it is compacted"


def test_statistics_of_tasks_operators_sources_and_sinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    env = ps.StreamExecutionEnvironment.get_execution_environment(
        ps.Configuration({"parallelism.default": 2, "execution.checkpointing.dir": str(tmp_path / "checkpoints")})
    )
    numbers = DataGeneratorSource(lambda i: ("hot" if i % 4 else f"key {i}", i), 6000, records_per_batch=2000)
    orders = env.from_source(numbers, ps.WatermarkStrategy.no_watermarks(), "orders")
    by_key = orders.map(lambda v: v).name("same").key_by(lambda v: v[0]).process(Seen()).name("by key").uid("by key")
    last = by_key.key_by(lambda v: v[1] % 7).process(Seen()).name("by rest").uid("by rest")
    last.sink_to(CollectSink()).name("out")
    result = env.execute("figures")
    checkpoints = [c for c in CheckpointHistory(registry_of().job_folder(result.job_id)).latest() if c.records]
    assert [c.records for c in checkpoints] == [2000, 2000, 2000]
    second = checkpoints[1]
    assert second.status == "completed"
    assert second.acknowledged_tasks == second.all_tasks == 2 + 2 * 2  # tasks of the source, slots of two levels
    assert sorted((t.level, t.slot) for t in second.tasks) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert second.triggered < second.tasks[0].began < second.tasks[-1].acknowledged < second.ended
    assert 0 < second.work < second.seconds
    assert len(second.measured.storing) == 2
    assert second.measured.files >= 2 + 4
    assert second.written_bytes > 0
    parts = {o.name: o for o in second.operators}
    assert set(parts) == {"same", "by key", "by rest"}
    assert (parts["by key"].records, parts["by key"].out, parts["by key"].level) == (2000, 2000, 1)
    assert (parts["by rest"].records, parts["by rest"].level, parts["by rest"].entries) == (2000, 2, 7)
    key, share = parts["by key"].hot[0]
    assert key == "'hot'"
    assert 0.6 < share < 0.9
    assert parts["by key"].skew > 1.4
    assert (second.sources[0].name, second.sources[0].lag, second.sources[0].full) == ("orders", 2000, True)
    assert (second.sinks[0].name, second.sinks[0].records) == ("out", 2000)
