"""`penstock rescale` on a real Spark. Every element is counted exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.cli.test_jobs_on_spark import JobCommands, check_once, counts
from tests.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.long]


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[JobCommands]:
    commands = JobCommands(tmp_path)
    yield commands
    for entry in commands.registry.entries():
        if not entry.is_over:
            commands.penstock("cancel", entry.id)


def test_the_new_job_continues_with_another_parallelism(commands: JobCommands) -> None:
    assert commands.penstock("run", str(commands.program), "--detached").returncode == 0
    old = commands.job()
    assert old.parallelism == 2
    refused = commands.penstock("rescale", old.id, "--parallelism", "2")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "[RESCALE_SAME]" in refused.stderr
    rescaled = commands.penstock("rescale", old.id, "--parallelism", "3")
    assert rescaled.returncode == 0, rescaled.stderr
    new = commands.registry.entry(rescaled.stdout.strip())
    assert new is not None
    assert (new.parallelism, new.name) == (3, old.name)
    assert new.from_savepoint
    assert (before := commands.registry.entry(old.id)) is not None
    assert before.status == "finished"
    until(lambda: commands.read(new.id)["batches"] >= 3)
    assert commands.penstock("stop", new.id).returncode == 0
    counted = counts(commands.penstock("logs", old.id).stdout) + counts(commands.penstock("logs", new.id).stdout)
    check_once(counted)
    assert new.launch is not None
    assert old.launch is not None
    assert new.launch.options["execution.rescale.parallelism"] == "3"
    assert new.launch.args == old.launch.args


def test_a_job_rescales_itself(commands: JobCommands) -> None:
    policy = {
        "policy": "on",
        "target-batch-time": "10 ms",  # no batch on Spark is as short
        "max-parallelism": "3",
        "cool-down": "5 s",
        "batches": "3",
    }
    options = [argument for name, value in policy.items() for argument in ("-D", f"execution.rescale.{name}={value}")]
    assert commands.penstock("run", str(commands.program), "--detached", *options).returncode == 0
    old = commands.job()
    until(lambda: any(e.parallelism == 3 and commands.read(e.id)["batches"] >= 3 for e in commands.registry.entries()))
    new = next(e for e in commands.registry.entries() if e.parallelism == 3)
    log = commands.penstock("logs", old.id).stdout
    assert f"job {old.id}: the policy rescales it from 2 to 3: batches take" in log
    assert commands.penstock("stop", new.id).returncode == 0
    assert len(commands.registry.entries()) == 2  # the maximum is three, so there is no further rescale
    check_once(counts(log) + counts(commands.penstock("logs", new.id).stdout))
