"""When a job should have another parallelism: the rule, and who is told."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.jobs.checkpoints import Checkpoint, Measured, SourcePart
from penstock.jobs.entry import JobEntry
from penstock.jobs.history import History
from penstock.jobs.launch import Launch, this_launch
from penstock.jobs.process import this_process
from penstock.jobs.rescaler import Rescaler
from penstock.jobs.rescaling import Policy, Proposal, Sample, decide, policy_of

POLICY = Policy("on", batch_time=2.0, lag=60.0, least=1, most=8, cool_down=300.0, batches=5)


def samples(
    seconds: float, lag: int | None = 0, grows: int = 0, every: float = 2.0, records: int = 1000
) -> list[Sample]:
    return [Sample(n * every, seconds, records, None if lag is None else lag + n * grows) for n in range(10)]


def wanted(policy: Policy, parallelism: int, given: list[Sample], alone_for: float = 1000.0) -> int | None:
    found = decide(policy, parallelism, given, alone_for)
    return None if found is None else found.parallelism


@pytest.mark.parametrize(
    ("seconds", "parallelism", "expected"),
    [
        (3.0, 2, 3),
        (2.2, 2, None),  # noise
        (20.0, 2, 4),  # never more than twice as many at once
        (20.0, 6, 8),  # the bound
        (20.0, 8, None),
        (1.5, 4, None),
    ],
)
def test_a_job_whose_batches_take_too_long_grows(seconds: float, parallelism: int, expected: int | None) -> None:
    assert wanted(POLICY, parallelism, samples(seconds)) == expected


def test_a_job_that_falls_behind_grows_and_one_that_catches_up_is_let_alone() -> None:
    assert wanted(POLICY, 2, samples(1.0, lag=100_000, grows=5_000)) == 4
    assert wanted(POLICY, 2, samples(1.0, lag=200_000, grows=-10_000)) is None
    assert wanted(POLICY, 2, samples(1.0, lag=None)) is None


def test_a_job_shrinks_only_when_both_targets_allow_it() -> None:
    assert wanted(POLICY, 4, samples(0.2, every=2.0)) == 1
    assert wanted(POLICY, 4, samples(0.2, every=0.2)) is None  # it works all the time
    assert wanted(msgspec.structs.replace(POLICY, lag=0.0), 4, samples(0.2, every=0.2)) == 1
    assert wanted(msgspec.structs.replace(POLICY, least=3), 4, samples(0.2)) == 3


def test_one_slow_batch_changes_nothing_and_neither_do_few_or_idle_ones() -> None:
    assert wanted(POLICY, 2, [*samples(1.5)[:9], Sample(20, 60.0, 1000)]) is None
    assert wanted(POLICY, 2, samples(9.0)[:4]) is None
    assert wanted(POLICY, 2, samples(9.0, records=0)) is None


def test_a_job_is_let_alone_for_a_while_and_for_good_when_the_policy_is_off() -> None:
    assert wanted(POLICY, 2, samples(9.0), alone_for=299.0) is None
    assert wanted(msgspec.structs.replace(POLICY, mode="off"), 2, samples(9.0)) is None


@given(
    st.integers(1, 8),
    st.lists(
        st.builds(
            Sample, st.floats(0, 1e6), st.floats(0, 1e4), st.integers(0, 10**9), st.none() | st.integers(0, 10**12)
        ),
        max_size=12,
    ),
)
def test_what_is_proposed_is_within_the_bounds_and_something_else(parallelism: int, given: list[Sample]) -> None:
    found = decide(POLICY, parallelism, given, 1000.0)
    assert found is None or (found.parallelism != parallelism and 1 <= found.parallelism <= 8)


def test_the_policy_is_off_unless_options_say_otherwise() -> None:
    assert policy_of(ps.Configuration({}), 4) == Policy(most=4)
    told = {"execution.rescale.policy": "dry-run", "execution.rescale.target-batch-time": "3 s"}
    assert policy_of(ps.Configuration(told), 4) == Policy("dry-run", batch_time=3.0, most=4)


@pytest.mark.parametrize("mode", ["off", "dry-run", "on"])
def test_the_rescaler_tells_or_acts_once(tmp_path: Path, mode: str) -> None:
    history = History(tmp_path)
    history.add(
        [
            Checkpoint(n, measured=Measured(triggered=100.0 + n, seconds=9.0), sources=[SourcePart("s", "s", 1000)])
            for n in range(5)
        ]
    )
    entry = JobEntry(id="j1", name="job", process=this_process(), program="", master="", checkpoint="", parallelism=2)
    notes: list[str] = []
    acts: list[tuple[JobEntry, Proposal]] = []
    policy = msgspec.structs.replace(POLICY, mode=mode)
    rescaler = Rescaler(policy, entry, history, notes.append, lambda e, p: acts.append((e, p)))
    for after in (5.0, 1000.0, 1020.0):
        rescaler.look(rescaler._since + after if after < 1010 else rescaler._looked + 20.0)
    assert len(notes) == (mode != "off")
    assert [p.parallelism for _, p in acts] == ([4] if mode == "on" else [])
    if mode == "dry-run":
        assert notes == ["job j1: the policy would rescale it from 2 to 4: batches take 9.0 s, and 2.0 s are wanted"]


def test_a_launch_is_remembered_unless_it_holds_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "job.py"
    script.write_text("")
    options = {"parallelism.default": 2, "execution.state-recovery.path": "/old"}
    monkeypatch.setenv("PENSTOCK_OPTIONS", json.dumps(options))
    monkeypatch.setattr("sys.argv", [str(script), "--topic", "t"])
    found = this_launch()
    assert found is not None
    assert (found.script, found.args, found.options) == (str(script), ["--topic", "t"], {"parallelism.default": 2})
    assert msgspec.json.decode(msgspec.json.encode(found), type=Launch) == found
    monkeypatch.setattr("sys.argv", [str(script), "--password", "sesame"])
    assert this_launch() is None
    monkeypatch.setattr("sys.argv", ["-c"])
    assert this_launch() is None


def test_an_option_overrules_the_program_s_parallelism() -> None:
    env = ps.StreamExecutionEnvironment(ps.Configuration({"execution.rescale.parallelism": 2}))
    env.set_parallelism(4)
    env.from_collection([1]).map(lambda n: n).set_parallelism(3).print()
    graph = env.graph()
    assert graph.parallelism == 2
    assert max(node.parallelism or 1 for node in graph.nodes) == 2
