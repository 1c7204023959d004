"""Executors of a standalone cluster are killed, frozen and decommissioned, and the driver is killed. The results are right."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.system.faults.disturbed import DisturbedJob
from tests.system.spark.standalone import StandaloneCluster
from tests.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.long]

NETWORK_TIMEOUT = 15.0  # seconds after which the driver gives up an executor that does not answer

PATIENCE = 900.0  # seconds; a cluster has six JVMs, which start slowly on a loaded machine


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    with StandaloneCluster(tmp_path / "cluster") as cluster:
        yield cluster


@pytest.fixture
def job(tmp_path: Path, cluster: StandaloneCluster) -> Iterator[DisturbedJob]:
    options = {
        "spark.master": cluster.url,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "600m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.heartbeatInterval": "1s",
        "spark.network.timeout": f"{NETWORK_TIMEOUT:g}s",
        "spark.network.timeoutInterval": "2s",
        "spark.decommission.enabled": "true",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 10,
        "restart-strategy.fixed-delay.delay": "1 s",
    }
    job = DisturbedJob(tmp_path, options, events=30_000, failing_store=False)
    yield job
    job.kill()


def kill_python_worker(executor: psutil.Process) -> None:
    """As the OOM killer does, which often chooses a Python worker."""
    forked = [child for daemon in executor.children() for child in daemon.children()]
    forked[0].kill()


def kill_executor(executor: psutil.Process) -> None:
    executor.kill()


def slow_executor(executor: psutil.Process) -> None:
    """It does not answer for a time that the driver tolerates."""
    freeze(executor, NETWORK_TIMEOUT / 3)


def lost_executor(executor: psutil.Process) -> None:
    """It does not answer until the driver has given it up, then it continues what it was doing."""
    freeze(executor, NETWORK_TIMEOUT * 2)


def decommissioned_executor(executor: psutil.Process) -> None:
    """As before its machine is shut down: it gets no more tasks and ends."""
    executor.send_signal(signal.SIGPWR)
    executor.wait(120)


def freeze(executor: psutil.Process, seconds: float) -> None:
    """Freezes the JVM and its Python processes, as a machine that hangs."""
    frozen = [executor, *executor.children(recursive=True)]
    for process in frozen:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    time.sleep(seconds)
    for process in frozen:
        with suppress(psutil.NoSuchProcess):
            process.resume()


FAULTS: list[Callable[[psutil.Process], None]] = [
    kill_python_worker,
    kill_executor,
    slow_executor,
    lost_executor,
    decommissioned_executor,
]


def test_lost_slow_and_decommissioned_executors(job: DisturbedJob, cluster: StandaloneCluster) -> None:
    job.start()
    job.wait_for_batches(2, PATIENCE)
    for fault in FAULTS:
        job.wait_until(lambda: len(cluster.executors()) == 2, PATIENCE)
        before, began = job.batches(), time.monotonic()
        fault(cluster.executors()[0])
        job.wait_for_batches(2, PATIENCE)
        print(f"{fault.__name__}: 2 batches after {before} took {time.monotonic() - began:.0f} s")
    assert job.process is not None
    job.check_result(PATIENCE)
    assert "restarted" not in job.process.text(), "Spark repeats the tasks on another executor"
    until(lambda: not cluster.executors(), seconds=PATIENCE)


def test_executors_end_with_a_killed_driver(job: DisturbedJob, cluster: StandaloneCluster) -> None:
    job.start()
    job.wait_for_batches(2, PATIENCE)
    assert job.process is not None
    job.process.process.kill()
    job.process.process.wait()
    until(lambda: not cluster.executors(), seconds=PATIENCE)
    until(lambda: not job.process.members(), seconds=PATIENCE)  # type: ignore[union-attr]
    job.start(resume=True)
    job.check_result(PATIENCE)
    until(lambda: not cluster.executors(), seconds=PATIENCE)
