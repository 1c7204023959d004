"""Processes that were started for a session that could not be created."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j import java_gateway  # type: ignore[import-untyped]
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark import SparkContext

from penstock.spark.session.jvm_process import (
    await_lost_jvm,
    end_started_processes_on_interrupt,
    log_connection_errors_quietly,
    lower_jvm_priority,
)

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


def test_only_processes_of_an_interrupted_block_are_killed() -> None:
    with subprocess.Popen(SLEEP) as earlier, subprocess.Popen(SLEEP) as kept:
        started: list[subprocess.Popen[bytes]] = []

        def interrupted() -> None:
            with end_started_processes_on_interrupt():
                started.append(subprocess.Popen(SLEEP))
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert started[0].wait(60) == -signal.SIGKILL
        with end_started_processes_on_interrupt():
            pass
        assert (earlier.poll(), kept.poll()) == (None, None)
        earlier.kill()
        kept.kill()


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(), Py4JNetworkError(), Py4JError("An error occurred while calling o1.isActive")]
)
def test_the_end_of_a_killed_jvm_is_awaited(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """The connection is lost before the process has ended."""
    with subprocess.Popen(SLEEP) as jvm:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=jvm))
        assert await_lost_jvm(ValueError("of the program")) is None
        killer = threading.Timer(0.2, jvm.kill)
        killer.start()
        assert await_lost_jvm(error) == -signal.SIGKILL
        killer.join()


def test_all_threads_of_a_jvm_that_ends_get_the_lowest_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import threading; threading.Thread(target=input, daemon=True).start(); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as jvm:
        assert jvm.stdout is not None
        jvm.stdout.readline()
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=jvm))
        lower_jvm_priority()
        threads = [int(thread.name) for thread in Path(f"/proc/{jvm.pid}/task").iterdir()]
        assert len(threads) == 2
        assert {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads} == {19}
        jvm.kill()
    lower_jvm_priority()  # it has ended


def test_py4j_prints_no_stack_traces(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(java_gateway, "logging", logging)
    log_connection_errors_quietly()
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    client = java_gateway.GatewayClient(port=1)
    monkeypatch.setattr(client, "_get_connection", lambda: None)
    monkeypatch.setattr(client, "_should_retry", lambda *_: False)

    class Lost:
        socket = None

        def send_command(self, command: str) -> str:
            raise Py4JNetworkError("lost")

        def close(self, reset: bool) -> None:
            pass

    monkeypatch.setattr(client, "_get_connection", Lost)
    client.send_command("x")
    assert root.handlers == []
    assert capfd.readouterr().err == ""
    root.addHandler(caplog.handler)
    client.send_command("x")
    assert [record.name for record in caplog.records] == ["py4j.java_gateway"]
