"""The unmodified examples of PyFlink print the same on Spark as on Flink 2.3, except for the order.

`scripts/fetch_pyflink_examples.py` takes them from PyFlink's package on PyPI; `make test-long` does so.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from tests.locations import PYFLINK_EXAMPLES

HERE = Path(__file__).parent
EXAMPLES = PYFLINK_EXAMPLES
pytestmark = [
    pytest.mark.spark,
    pytest.mark.long,
    pytest.mark.skipif(not EXAMPLES.exists(), reason="run scripts/fetch_pyflink_examples.py first"),
]
SAID = ("Printing result to stdout", "Executing word_count", "Use --input")  # by the programs themselves
PRINTED = {
    "basic_operations.py": "people",
    "process_json_data.py": "json_data",
    "state_access.py": "balance",
    "word_count.py": "word_count",
    "windowing/tumbling_time_window.py": "time_windows-tumbling",
    "windowing/sliding_time_window.py": "time_windows-sliding",
    "windowing/session_with_gap_window.py": "time_windows-session",
    "windowing/session_with_dynamic_gap_window.py": "time_windows-dynamic",
    "windowing/tumbling_count_window.py": "count_windows",
}


def lines(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if not line.startswith(SAID))


def run(example: str) -> list[str]:
    done = CliRunner().invoke(app, ["run", "--pyflink", "--master", "local[2]", str(EXAMPLES / example)])
    assert done.exit_code == 0, done.stderr
    return lines(done.stdout)


@pytest.mark.parametrize("example", PRINTED)
def test_prints_what_flink_prints(example: str) -> None:
    assert run(example) == lines((HERE / "expected" / f"{PRINTED[example]}.txt").read_text(encoding="utf-8"))


def test_timers_fire_for_each_element() -> None:
    """Its state expires after one second of processing time, so the last results depend on the speed of the machine."""
    found = [line.split(",")[0] for line in run("event_time_timer.py")]
    assert found == ["('Alice'"] * 4 + ["('Bob'"] * 4


def run_for_a_while(example: str, wanted: int, tmp_path: Path) -> list[str]:
    """An endless program, stopped when it has printed enough."""
    out = tmp_path / "out.txt"
    command = [sys.executable, "-m", "penstock", "run", "--pyflink", "--master", "local[2]", str(EXAMPLES / example)]
    with open(out, "wb") as file, subprocess.Popen(command, stdout=file, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 180
        while len(lines(out.read_text())) < wanted and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error.decode()
    return [line for line in out.read_text().splitlines() if not line.startswith(SAID)]


def test_words_are_counted_one_by_one(tmp_path: Path) -> None:
    counts: dict[str, int] = {}
    for line in run_for_a_while("streaming_word_count.py", 20, tmp_path):
        word, count = re.fullmatch(r"\((\w+),(\d+)\)", line).groups()  # type: ignore[union-attr]
        counts[word] = counts.get(word, 0) + 1
        assert int(count) == counts[word], line


def test_all_answers_of_the_model_are_printed(tmp_path: Path) -> None:
    for line in run_for_a_while("asyncio/remote_model_inference.py", 50, tmp_path):
        answer = json.loads(line)
        assert set(answer) == {"user_id", "comments", "analysis_result"}
        assert len(answer["comments"]) == 100
