"""The rescale policy, the rescaler, and the recorded launch of a program."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SourceStats, SparkTimings
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.launch import Launch, current_launch
from penstock.jobs.registry.process import this_process
from penstock.jobs.run.rescale_policy import Policy, Sample, decide, read_policy
from penstock.jobs.run.rescaler import Rescaler

POLICY = Policy("on", batch_time=2.0, lag=60.0, least=1, most=8, cool_down=300.0, batches=5)


def samples(
    seconds: float, lag: int | None = 0, grows: int = 0, every: float = 2.0, records: int = 1000
) -> list[Sample]:
    return [Sample(n * every, seconds, records, None if lag is None else lag + n * grows) for n in range(10)]


def proposed(policy: Policy, parallelism: int, last_samples: list[Sample], alone_for: float = 1000.0) -> int | None:
    found = decide(policy, parallelism, last_samples, alone_for)
    return None if found is None else found.parallelism


@pytest.mark.parametrize(
    ("seconds", "parallelism", "expected"),
    [
        (3.0, 2, 3),
        (2.2, 2, None),  # noise
        (20.0, 2, 4),  # at most twice as many in one step
        (20.0, 6, 8),  # the bound
        (20.0, 8, None),
        (1.5, 4, None),
    ],
)
def test_slow_batches_increase_the_parallelism(seconds: float, parallelism: int, expected: int | None) -> None:
    assert proposed(POLICY, parallelism, samples(seconds)) == expected


def test_a_growing_lag_increases_the_parallelism() -> None:
    assert proposed(POLICY, 2, samples(1.0, lag=100_000, grows=5_000)) == 4
    assert proposed(POLICY, 2, samples(1.0, lag=200_000, grows=-10_000)) is None
    assert proposed(POLICY, 2, samples(1.0, lag=None)) is None


def test_the_parallelism_decreases_only_if_both_targets_allow_it() -> None:
    assert proposed(POLICY, 4, samples(0.2, every=2.0)) == 1
    assert proposed(POLICY, 4, samples(0.2, every=0.2)) is None  # it works all the time
    assert proposed(msgspec.structs.replace(POLICY, lag=0.0), 4, samples(0.2, every=0.2)) == 1
    assert proposed(msgspec.structs.replace(POLICY, least=3), 4, samples(0.2)) == 3


def test_single_few_or_idle_batches_change_nothing() -> None:
    assert proposed(POLICY, 2, [*samples(1.5)[:9], Sample(20, 60.0, 1000)]) is None
    assert proposed(POLICY, 2, samples(9.0)[:4]) is None
    assert proposed(POLICY, 2, samples(9.0, records=0)) is None


def test_the_cool_down_and_the_mode_off_prevent_a_rescale() -> None:
    assert proposed(POLICY, 2, samples(9.0), alone_for=299.0) is None
    assert proposed(msgspec.structs.replace(POLICY, mode="off"), 2, samples(9.0)) is None


@given(
    st.integers(1, 8),
    st.lists(
        st.builds(
            Sample, st.floats(0, 1e6), st.floats(0, 1e4), st.integers(0, 10**9), st.none() | st.integers(0, 10**12)
        ),
        max_size=12,
    ),
)
def test_a_proposal_is_within_the_bounds_and_a_change(parallelism: int, last_samples: list[Sample]) -> None:
    found = decide(POLICY, parallelism, last_samples, 1000.0)
    assert found is None or (found.parallelism != parallelism and 1 <= found.parallelism <= 8)


def test_the_policy_is_off_by_default() -> None:
    assert read_policy(ps.Configuration({}), 4) == Policy(most=4)
    options = {"execution.rescale.policy": "dry-run", "execution.rescale.target-batch-time": "3 s"}
    assert read_policy(ps.Configuration(options), 4) == Policy("dry-run", batch_time=3.0, most=4)


@pytest.mark.parametrize("mode", ["off", "dry-run", "on"])
def test_the_rescaler_logs_or_rescales_once(tmp_path: Path, mode: str) -> None:
    history = CheckpointHistory(tmp_path)
    history.add(
        [
            CheckpointStats(
                n, measured=SparkTimings(triggered=100.0 + n, seconds=9.0), sources=[SourceStats("s", "s", 1000)]
            )
            for n in range(5)
        ]
    )
    entry = JobEntry(id="j1", name="job", process=this_process(), program="", master="", checkpoint="", parallelism=2)
    notes: list[str] = []
    requested: list[int] = []
    policy = msgspec.structs.replace(POLICY, mode=mode)
    rescaler = Rescaler(policy, entry, history, notes.append, requested.append)
    for after in (5.0, 1000.0, 1020.0):
        rescaler.check(rescaler._since + after if after < 1010 else rescaler._checked_at + 20.0)
    assert len(notes) == (mode != "off")
    assert requested == ([4] if mode == "on" else [])
    if mode == "dry-run":
        assert notes == ["job j1: the policy would rescale it from 2 to 4: batches take 9.0 s, the target is 2.0 s"]


def test_a_launch_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "job.py"
    script.write_text("")
    options = {"parallelism.default": 2, "execution.state-recovery.path": "/old"}
    monkeypatch.setenv("PENSTOCK_OPTIONS", json.dumps(options))
    monkeypatch.setattr("sys.argv", [str(script), "--topic", "t"])
    found = current_launch()
    assert found is not None
    assert (found.script, found.args, found.options) == (str(script), ["--topic", "t"], {"parallelism.default": 2})
    assert msgspec.json.decode(msgspec.json.encode(found), type=Launch) == found
    monkeypatch.setattr("sys.argv", ["-c"])
    assert current_launch() is None


def test_an_option_overrides_the_parallelism_of_the_program() -> None:
    env = ps.StreamExecutionEnvironment(ps.Configuration({"execution.rescale.parallelism": 2}))
    env.set_parallelism(4)
    env.from_collection([1]).map(lambda n: n).set_parallelism(3).print()
    graph = env.graph()
    assert graph.parallelism == 2
    assert max(node.parallelism or 1 for node in graph.nodes) == 2
