"""A real Spark standalone cluster on this machine: a master and two workers of one core."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyspark


class StandaloneCluster:
    """Starts with `with`, ends with it. Workers and executors see an empty folder in the place of `hidden`, as on other
    machines; where this user may not mount anything, they see what is there.
    """

    def __init__(self, folder: Path, hidden: Path | None = None) -> None:
        self._folder = folder
        self._around: list[str] = []
        if hidden is not None and can_hide():
            self._around = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(hidden)]
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = f"spark://127.0.0.1:{free_port()}"

    def __enter__(self) -> StandaloneCluster:
        host, port = self.url.removeprefix("spark://").split(":")
        self._start([], "org.apache.spark.deploy.master.Master", "--host", host, "--port", port, "--webui-port", "0")
        _wait_for_port(int(port))
        for _ in range(2):
            self._start(
                self._around,
                "org.apache.spark.deploy.worker.Worker",
                *("--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0"),
                *("--work-dir", str(self._folder / "work"), self.url),
            )
        return self

    def _start(self, around: list[str], *arguments: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        log = open(self._folder / f"log-{len(self._processes)}", "wb")  # noqa: SIM115 - the child's for as long as it lives
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_NO_DAEMONIZE": "1",
        }
        script = Path(pyspark.__file__).parent / "bin" / "spark-class"
        command = [*around, str(script), *arguments]
        self._processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
        log.close()

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(30)


def can_hide() -> bool:
    """Whether a process may have a view of the file system of its own."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens on port {port}")
