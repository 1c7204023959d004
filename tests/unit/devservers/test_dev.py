"""`penstock dev`, with real servers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.devservers import server
from penstock.devservers import user_servers as dev
from penstock.devservers.user_servers import ServerEntry
from penstock.jobs.registry.process import ProcessId, this_process


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    yield tmp_path
    for name in ("kafka", "redis"):
        dev.down(name)


def dev_command(*command: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(app, ["dev", *command, "--json"])
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_up_status_down() -> None:
    (up,) = dev_command("up", "redis")
    assert (up["name"], up["status"]) == ("redis", "running")
    with socket.create_connection(("127.0.0.1", up["port"])) as connection:
        connection.sendall(b"SET a 1\r\n")
        assert connection.recv(16) == b"+OK\r\n"
    assert dev_command("up", "redis") == [up] == dev_command("status")
    (down,) = dev_command("down", "redis")
    assert (down["pid"], down["status"]) == (up["pid"], "stopped")
    assert dev_command("status") == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", up["port"]))
    # Python would warn about it when this process ends. Other tests may have servers that still run.
    assert up["pid"] not in [child.pid for child in server._left_running]


def test_data_is_kept_until_it_is_deleted() -> None:
    def send(line: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", dev_command("up", "redis")[0]["port"])) as connection:
            connection.sendall(line + b"\r\n")
            return connection.recv(64)

    send(b"SET a 1")
    dev_command("down")
    assert send(b"EXISTS a") == b":1\r\n"
    dev_command("down", "redis", "--delete-data")
    assert send(b"EXISTS a") == b":0\r\n"


@pytest.mark.jvm
@pytest.mark.long
def test_kafka_keeps_its_topics() -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    (up,) = dev_command("up", "kafka")
    admin = AdminClient({"bootstrap.servers": up["address"], "log_level": 0, "reconnect.backoff.max.ms": 500})
    admin.create_topics([NewTopic("kept", 2, 1)])["kept"].result(120)
    dev_command("down", "kafka")
    (again,) = dev_command("up", "kafka", "--port", str(up["port"]))
    assert (again["port"], again["pid"] != up["pid"]) == (up["port"], True)
    assert len(admin.list_topics(timeout=120).topics["kept"].partitions) == 2


def test_a_port_in_use_is_an_error() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = CliRunner().invoke(app, ["dev", "up", "redis", "--port", port])
    assert done.exit_code == 1
    assert f"[PORT_TAKEN] The server 'redis' cannot listen on 127.0.0.1:{port}" in done.stderr


def test_a_running_server_with_another_port_is_an_error() -> None:
    (up,) = dev_command("up", "redis")
    done = CliRunner().invoke(app, ["dev", "up", "redis", "--port", "1"])
    assert (done.exit_code, "[SERVER_RUNS]" in done.stderr, up["address"] in done.stderr) == (1, True, True)


def test_the_error_of_a_failed_start_contains_the_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "redis-server"
    broken.write_text("#!/bin/sh\necho 'I cannot.'\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PENSTOCK_REDIS_SERVER", str(broken))
    done = CliRunner().invoke(app, ["dev", "up", "redis"])
    assert (done.exit_code, "[SERVER_START]" in done.stderr, "I cannot." in done.stderr) == (1, True, True)


def test_an_unknown_server_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "[SERVER_UNKNOWN]" in CliRunner().invoke(app, ["dev", "up", "postgras"]).stderr
    assert "[SERVER_UNKNOWN]" in CliRunner().invoke(app, ["dev", "down", "postgras"]).stderr
    monkeypatch.setenv("PENSTOCK_REDIS_SERVER", "/nowhere/redis-server")
    assert "[NO_REDIS]" in CliRunner().invoke(app, ["dev", "up", "redis"]).stderr


def test_a_process_that_reuses_the_id_of_a_server_is_not_ended(home: Path) -> None:
    """The system reuses process ids. The recorded server has ended, and this process has its id."""
    folder = home / "servers" / "redis"
    folder.mkdir(parents=True)
    me = this_process()
    entry = ServerEntry("redis", "1", 1, ProcessId(me.host, me.pid, "earlier"), str(folder))
    (folder / "server.json").write_text(json.dumps(_plain(entry)))
    assert [e["status"] for e in dev_command("status")] == ["lost"]
    dev_command("down", "redis")
    assert dev_command("status") == []
    assert os.getpid() == me.pid


def _plain(entry: ServerEntry) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(entry)
    return plain


def test_a_server_outlives_the_command() -> None:
    """Each command runs in its own process, as for a user."""
    command = [sys.executable, "-m", "penstock", "dev"]
    up = subprocess.run([*command, "up", "redis", "--json"], capture_output=True, text=True, check=True)
    assert dev_command("status")[0]["pid"] == json.loads(up.stdout)["pid"]
    down = subprocess.run([*command, "down"], capture_output=True, text=True, check=True)
    assert down.stdout == "redis stopped\n"
