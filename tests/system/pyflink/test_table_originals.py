"""The unmodified examples of PyFlink's Table API print the same on the local engine as on Flink 2.3, except for the order.

`scripts/fetch_pyflink_examples.py` takes them from PyFlink's package on PyPI; `make test-long` does so.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.locations import PYFLINK_EXAMPLES

EXPECTED = Path(__file__).parent / "expected"
EXAMPLES = PYFLINK_EXAMPLES / "table"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not EXAMPLES.exists(), reason="run scripts/fetch_pyflink_examples.py first"),
]
PRINTED = [
    "multi_sink",
    "process_json_data",
    "process_json_data_with_udf",
    "pandas/pandas_udaf",
    "windowing/over_window",
    "windowing/session_window",
    "windowing/sliding_window",
    "windowing/tumble_window",
]
CHANGE = re.compile(r"([+-][UID])\[(.*)\]")


def command(example: str) -> list[str]:
    return [sys.executable, "-m", "penstock", "run", "--pyflink", "--local", str(EXAMPLES / f"{example}.py")]


def run(example: str) -> list[str]:
    done = subprocess.run(command(example), capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def changes(lines: list[str]) -> list[str]:
    return sorted(line for line in lines if CHANGE.fullmatch(line))


def expected(example: str) -> list[str]:
    return sorted((EXPECTED / f"table_{Path(example).name}.txt").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("example", PRINTED)
def test_prints_what_flink_prints(example: str) -> None:
    assert changes(run(example)) == expected(example)


def test_the_final_counts_of_words() -> None:
    """Flink counts word by word, and Penstock a batch of words at once."""
    final: dict[str, str] = {}
    for line in run("word_count"):
        found = CHANGE.fullmatch(line)
        if found is not None and found[1].startswith("+"):
            word, _, count = found[2].rpartition(", ")
            final[word] = count
    assert sorted(f"{word}, {count}" for word, count in final.items()) == expected("word_count")


def test_all_operations() -> None:
    """Flink fails in the second half, where the program has replaced the module json by an expression; Penstock does not."""
    tables = "\n".join(run("basic_operations")).split("rows in set")
    assert len(tables) >= 16
    assert "| +I |                        Germany |                    1 |                  123 |" in "".join(tables)


def test_a_frame_of_pandas_and_back() -> None:
    assert run("pandas/conversion_from_dataframe")[-1] == "[1000 rows x 2 columns]"


def test_random_rows() -> None:
    assert len(changes(run("mixing_use_of_datastream_and_table"))) == 10
    assert "10 rows in set" in run("async/async_scalar_function")


def test_words_are_counted_until_the_program_is_stopped(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    with (
        open(out, "wb") as file,
        subprocess.Popen(command("streaming_word_count"), stdout=file, stderr=subprocess.PIPE) as job,
    ):
        deadline = time.monotonic() + 120
        while len(out.read_text().splitlines()) < 20 and time.monotonic() < deadline and job.poll() is None:
            time.sleep(0.5)
        job.send_signal(signal.SIGINT)
        _, error = job.communicate(timeout=120)
    assert job.returncode == 130, error.decode()
    assert len(changes(out.read_text().splitlines())) >= 20
