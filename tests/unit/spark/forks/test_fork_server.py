"""Processes that the fork server forks behave like interpreters that Spark starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.spark.forks.fork_server import ForkServer
from tests.waiting import until

PROGRAM = """
import os, sys
print(__name__, sys.argv[1:], os.environ.get("MARK"), os.getcwd(), "json" in sys.modules)
print(sys.stdin.read().upper(), file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""
WAITING = "import os, pathlib, sys, time\npathlib.Path(sys.argv[1]).write_text(str(os.getpid()))\ntime.sleep(600)\n"


@pytest.fixture
def server() -> Iterator[ForkServer]:
    with ForkServer.start(modules=["json", "no_such_module"]) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "waiting.py").write_text(WAITING)
    return tmp_path


def run(python: str, folder: Path, *arguments: str, text: str = "") -> tuple[int, str, str]:
    environment = {**os.environ, "MARK": "m=1 ü"}
    done = subprocess.run(
        [python, *arguments], input=text, capture_output=True, text=True, cwd=folder, env=environment, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


def start_waiting(server: ForkServer, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Starts a process that waits. Returns the client and the id of the forked process."""
    file = folder / "pid"
    client = subprocess.Popen([server.executable, "-m", "waiting", str(file)], cwd=folder, start_new_session=True)
    until(lambda: file.exists() and file.read_text())
    return client, int(file.read_text())


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("code", [0, 3])
def test_a_module_runs_as_in_an_interpreter(server: ForkServer, folder: Path, code: int) -> None:
    command = ("-m", "program", str(code), "-x", "ü")
    forked = run(server.executable, folder, *command, text="input")
    assert forked == (code, f"__main__ ['{code}', '-x', 'ü'] m=1 ü {folder} True\n", "INPUT\n")
    started = run(sys.executable, folder, *command, text="input")
    assert started == (forked[0], forked[1].replace("True", "False"), forked[2])


def test_several_processes_at_a_time(server: ForkServer, folder: Path) -> None:
    clients = [
        subprocess.Popen([server.executable, "-m", "program", str(n)], cwd=folder, stdin=subprocess.DEVNULL)
        for n in range(5)
    ]
    assert [client.wait(120) for client in clients] == [0, 1, 2, 3, 4]


def test_an_error_is_written_to_stderr(server: ForkServer, folder: Path) -> None:
    (folder / "failing.py").write_text("raise ValueError('found me')")
    code, _, error = run(server.executable, folder, "-m", "failing")
    assert code == 1
    assert "ValueError: found me" in error


def test_sigterm_is_forwarded(server: ForkServer, folder: Path) -> None:
    client, forked = start_waiting(server, folder)
    client.send_signal(signal.SIGTERM)
    assert client.wait(120) == 128 + signal.SIGTERM
    assert not is_running(forked)


def test_a_killed_client_takes_its_process_along(server: ForkServer, folder: Path) -> None:
    client, forked = start_waiting(server, folder)
    client.kill()
    client.wait()
    until(lambda: not is_running(forked))
    assert run(server.executable, folder, "-m", "program", "0")[0] == 0


def test_the_client_reports_the_signal_that_killed_its_process(server: ForkServer, folder: Path) -> None:
    client, forked = start_waiting(server, folder)
    os.kill(forked, signal.SIGKILL)
    assert client.wait(120) == 128 + signal.SIGKILL


def test_other_commands_start_an_interpreter(server: ForkServer, folder: Path) -> None:
    assert run(server.executable, folder, "-c", "import sys; print('json' in sys.modules)") == (0, "False\n", "")


def test_without_its_server_a_client_starts_an_interpreter(server: ForkServer, folder: Path) -> None:
    os.kill(server._process.pid, signal.SIGKILL)
    server._process.wait()
    code, output, _ = run(server.executable, folder, "-m", "program", "4")
    assert (code, output.endswith("False\n")) == (4, True)


def test_the_server_ends_with_the_process_that_started_it(folder: Path) -> None:
    program = (
        "from penstock.spark.forks.fork_server import ForkServer; s = ForkServer.start(modules=[])\n"
        "print(s._process.pid, s.executable, flush=True); import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    )
    starter = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    output, _ = starter.communicate(timeout=120)
    until(lambda: not is_running(int(output.split()[0])))
