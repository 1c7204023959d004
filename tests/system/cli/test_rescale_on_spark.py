"""`penstock rescale` on a real Spark: one command, and every element counts once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_jobs_on_spark import Tried, check_once, counts
from tests.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.long]


@pytest.fixture
def tried(tmp_path: Path) -> Iterator[Tried]:
    tried = Tried(tmp_path)
    yield tried
    for entry in tried.registry.entries():
        if not entry.is_over:
            tried.penstock("cancel", entry.id)


def test_a_job_goes_on_with_another_parallelism(tried: Tried) -> None:
    assert tried.penstock("run", str(tried.program), "--detached").returncode == 0
    old = tried.job()
    assert old.parallelism == 2
    refused = tried.penstock("rescale", old.id, "--parallelism", "2")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "[RESCALE_SAME]" in refused.stderr
    rescaled = tried.penstock("rescale", old.id, "--parallelism", "3")
    assert rescaled.returncode == 0, rescaled.stderr
    new = tried.registry.entry(rescaled.stdout.strip())
    assert new is not None
    assert (new.parallelism, new.name) == (3, old.name)
    assert new.from_savepoint
    assert (before := tried.registry.entry(old.id)) is not None
    assert before.status == "finished"
    until(lambda: tried.read(new.id)["batches"] >= 3)
    assert tried.penstock("stop", new.id).returncode == 0
    seen = counts(tried.penstock("logs", old.id).stdout) + counts(tried.penstock("logs", new.id).stdout)
    check_once(seen)
    assert new.launch is not None
    assert old.launch is not None
    assert new.launch.options["execution.rescale.parallelism"] == "3"
    assert new.launch.args == old.launch.args


def test_a_job_rescales_itself(tried: Tried) -> None:
    policy = {
        "policy": "on",
        "target-batch-time": "10 ms",  # no batch of Spark is as short
        "max-parallelism": "3",
        "cool-down": "5 s",
        "batches": "3",
    }
    options = [word for name, value in policy.items() for word in ("-D", f"execution.rescale.{name}={value}")]
    assert tried.penstock("run", str(tried.program), "--detached", *options).returncode == 0
    old = tried.job()
    until(lambda: any(e.parallelism == 3 and tried.read(e.id)["batches"] >= 3 for e in tried.registry.entries()))
    new = next(e for e in tried.registry.entries() if e.parallelism == 3)
    log = tried.penstock("logs", old.id).stdout
    assert f"job {old.id}: the policy rescales it from 2 to 3: batches take" in log
    assert tried.penstock("stop", new.id).returncode == 0
    assert len(tried.registry.entries()) == 2  # three is the most: it was let alone
    check_once(counts(log) + counts(tried.penstock("logs", new.id).stdout))
