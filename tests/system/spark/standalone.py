"""A Spark standalone cluster on this machine: a master, and workers with one core each."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pyspark


class StandaloneCluster:
    """Runs inside a `with` block. For workers and executors the folder `hidden` is empty, as on another machine.

    If this user is not allowed to mount file systems, the folder is visible to them.
    """

    def __init__(self, folder: Path, hidden: Path | None = None, workers: int = 2) -> None:
        self._folder = folder
        self._workers = workers
        self._wrapper: list[str] = []
        if hidden is not None and can_hide_folders():
            self._wrapper = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(hidden)]
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = f"spark://127.0.0.1:{free_port()}"

    def __enter__(self) -> StandaloneCluster:
        host, port = self.url.removeprefix("spark://").split(":")
        self._start([], "org.apache.spark.deploy.master.Master", "--host", host, "--port", port, "--webui-port", "0")
        _wait_for_port(int(port))
        for _ in range(self._workers):
            self._start(
                self._wrapper,
                "org.apache.spark.deploy.worker.Worker",
                *("--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0"),
                *("--work-dir", str(self._folder / "work"), self.url),
            )
        return self

    def _start(self, around: list[str], *arguments: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        log = open(self._folder / f"log-{len(self._processes)}", "wb")  # noqa: SIM115 - the child process uses it
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        script = Path(pyspark.__file__).parent / "bin" / "spark-class"
        command = [*around, str(script), *arguments]
        self._processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
        log.close()

    def executors(self) -> list[psutil.Process]:
        """The JVMs of the executors that run."""
        found = []
        for process in self._processes[1:]:
            for child in _children(process.pid):
                with suppress(psutil.Error):
                    if any("CoarseGrainedExecutorBackend" in part for part in child.cmdline()):
                        found.append(child)
        return found

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(180)


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def can_hide_folders() -> bool:
    """Whether processes can be started with their own view of the file system."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens on port {port}")
