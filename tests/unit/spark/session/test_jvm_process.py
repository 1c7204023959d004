"""Processes that were started for a session that could not be created."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from penstock.spark.session.jvm_process import end_started_processes_on_interrupt

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
