"""`penstock dev`: real servers, exactly one of a kind, ended and nothing else."""

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
from penstock.jobs.process import ProcessName, this_process
from penstock.servers import dev
from penstock.servers.dev import ServerEntry


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    yield tmp_path
    for name in ("kafka", "redis"):
        dev.down(name)


def told(*command: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(app, ["dev", *command, "--json"])
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_up_status_down() -> None:
    (up,) = told("up", "redis")
    assert (up["name"], up["status"]) == ("redis", "running")
    with socket.create_connection(("127.0.0.1", up["port"])) as connection:
        connection.sendall(b"SET a 1\r\n")
        assert connection.recv(16) == b"+OK\r\n"
    assert told("up", "redis") == [up] == told("status")
    (down,) = told("down", "redis")
    assert (down["pid"], down["status"]) == (up["pid"], "stopped")
    assert told("status") == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", up["port"]))


def test_data_stay_until_they_are_deleted() -> None:
    def said(line: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", told("up", "redis")[0]["port"])) as connection:
            connection.sendall(line + b"\r\n")
            return connection.recv(64)

    said(b"SET a 1")
    told("down")
    assert said(b"EXISTS a") == b":1\r\n"
    told("down", "redis", "--delete-data")
    assert said(b"EXISTS a") == b":0\r\n"


def test_kafka_keeps_its_topics() -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    (up,) = told("up", "kafka")
    admin = AdminClient({"bootstrap.servers": up["address"], "log_level": 0, "reconnect.backoff.max.ms": 500})
    admin.create_topics([NewTopic("kept", 2, 1)])["kept"].result(30)
    told("down", "kafka")
    (again,) = told("up", "kafka", "--port", str(up["port"]))
    assert (again["port"], again["pid"] != up["pid"]) == (up["port"], True)
    assert len(admin.list_topics(timeout=30).topics["kept"].partitions) == 2


def test_a_taken_port_is_told() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = CliRunner().invoke(app, ["dev", "up", "redis", "--port", port])
    assert done.exit_code == 1
    assert f"[PORT_TAKEN] The server 'redis' cannot listen on 127.0.0.1:{port}" in done.stderr


def test_another_port_than_that_of_the_running_server_is_refused() -> None:
    (up,) = told("up", "redis")
    done = CliRunner().invoke(app, ["dev", "up", "redis", "--port", "1"])
    assert (done.exit_code, "[SERVER_RUNS]" in done.stderr, up["address"] in done.stderr) == (1, True, True)


def test_a_server_that_does_not_start_is_told_with_its_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "redis-server"
    broken.write_text("#!/bin/sh\necho 'I cannot.'\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PENSTOCK_REDIS_SERVER", str(broken))
    done = CliRunner().invoke(app, ["dev", "up", "redis"])
    assert (done.exit_code, "[SERVER_START]" in done.stderr, "I cannot." in done.stderr) == (1, True, True)


def test_no_server_of_that_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "[SERVER_UNKNOWN]" in CliRunner().invoke(app, ["dev", "up", "postgras"]).stderr
    assert "[SERVER_UNKNOWN]" in CliRunner().invoke(app, ["dev", "down", "postgras"]).stderr
    monkeypatch.setenv("PENSTOCK_REDIS_SERVER", "/nowhere/redis-server")
    assert "[NO_REDIS]" in CliRunner().invoke(app, ["dev", "up", "redis"]).stderr


def test_another_process_with_the_id_of_a_server_that_died_is_left_alone(home: Path) -> None:
    """Ids are given again: the entry is of a server that is gone, and its id is now this process."""
    folder = home / "servers" / "redis"
    folder.mkdir(parents=True)
    me = this_process()
    entry = ServerEntry("redis", "1", 1, ProcessName(me.host, me.pid, "earlier"), str(folder))
    (folder / "server.json").write_text(json.dumps(_plain(entry)))
    assert [e["status"] for e in told("status")] == ["lost"]
    told("down", "redis")
    assert told("status") == []
    assert os.getpid() == me.pid


def _plain(entry: ServerEntry) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(entry)
    return plain


def test_a_server_outlives_the_command() -> None:
    """Each command is a process of its own, as for a user."""
    command = [sys.executable, "-m", "penstock", "dev"]
    up = subprocess.run([*command, "up", "redis", "--json"], capture_output=True, text=True, check=True)
    assert told("status")[0]["pid"] == json.loads(up.stdout)["pid"]
    down = subprocess.run([*command, "down"], capture_output=True, text=True, check=True)
    assert down.stdout == "redis stopped\n"
