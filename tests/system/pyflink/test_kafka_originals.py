"""The unmodified Kafka examples of PyFlink, with a broker on the port that they use."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.locations import PYFLINK_EXAMPLES
from tests.servers import Kafka

EXAMPLES = PYFLINK_EXAMPLES / "connectors"
PORT = 9092
pytestmark = [
    pytest.mark.spark,
    pytest.mark.long,
    pytest.mark.skipif(not EXAMPLES.exists(), reason="run scripts/fetch_pyflink_examples.py first"),
]
ROWS = ["+I[1,hi]", "+I[2,hello]", "+I[3,hi]", "+I[4,hello]", "+I[5,hi]", "+I[6,hello]", "+I[6,hello]"]


@pytest.fixture(scope="module")
def broker() -> Iterator[Kafka]:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", PORT)) == 0:
            pytest.skip(f"port {PORT}, which the examples name, is in use")
    kafka = Kafka(port=PORT)
    yield kafka
    kafka.stop()


def printed(example: str, line_count: int, folder: Path) -> list[str]:
    """Runs a program without end until it has printed enough lines, and returns them without its messages."""
    out = folder / "out.txt"
    command = [sys.executable, "-m", "penstock", "run", "--pyflink", "--master", "local[2]", str(EXAMPLES / example)]
    with open(out, "wb") as file, subprocess.Popen(command, stdout=file, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 240
        while len(_output_lines(out)) < line_count and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error.decode()
    return _output_lines(out)


def _output_lines(out: Path) -> list[str]:
    _, _, rows = out.read_text().partition("start reading data from kafka\n")
    return sorted(rows.splitlines())


@pytest.mark.parametrize("kind", ["json", "csv", "avro"])
def test_rows_are_written_and_read(broker: Kafka, kind: str, tmp_path: Path) -> None:
    broker.create_topic(f"test_{kind}_topic")
    assert printed(f"kafka_{kind}_format.py", 7, tmp_path) == ROWS


def test_bytes_are_written_and_read(broker: Kafka, tmp_path: Path) -> None:
    broker.create_topic("test_bytearray_topic")
    found = [json.loads(line) for line in printed("kafka_bytearray_format.py", 3, tmp_path)]
    assert found == [{"id": 1, "country": "USA"}, {"id": 2, "country": "Canada"}, {"id": 3, "country": "Germany"}]


def test_fields_of_rows_are_keys_and_values(broker: Kafka) -> None:
    broker.create_topic("row-extractor-example", partitions=3)
    program = str(EXAMPLES / "kafka_row_field_extractor_example.py")
    command = [sys.executable, "-m", "penstock", "run", "--pyflink", "--master", "local[2]", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found = sorted((m.key(), json.loads(m.value() or b"")["type"]) for m in broker.read("row-extractor-example"))
    assert found == [
        (b"user-001", "add_to_cart"),
        (b"user-001", "purchase"),
        (b"user-002", "view"),
        (b"user-003", "purchase"),
    ]
