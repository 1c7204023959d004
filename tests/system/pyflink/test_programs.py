"""Programs for PyFlink print the same on Spark as on Flink 2.3, except for the order.

The programs use the calls of PyFlink's own examples on the same input. `expected` holds what Flink printed, without the number
of the subtask before `>`.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HERE = Path(__file__).parent


def run(program: str, *arguments: str) -> list[str]:
    command = ["run", "--pyflink", "--master", "local[2]", str(HERE / "programs" / program), "--", *arguments]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.stderr
    return sorted(done.stdout.splitlines())


def expected(name: str) -> list[str]:
    return sorted((HERE / "expected" / f"{name}.txt").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("program", ["people", "json_data", "balance", "balance_later", "words", "count_windows"])
def test_prints_what_flink_prints(program: str) -> None:
    assert run(f"{program}.py") == expected(program)


@pytest.mark.parametrize("kind", ["tumbling", "sliding", "session", "dynamic"])
def test_windows_print_what_flink_prints(kind: str) -> None:
    assert run("time_windows.py", kind) == expected(f"time_windows-{kind}")


def test_words_of_files_go_to_files(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "a.txt").write_bytes(b"a b\n\nb\r\n")
    (source / "b.txt.gz").write_bytes(gzip.compress(b"c a a\n"))
    assert run("words.py", "--input", str(source), "--output", str(target)) == []
    files = list(target.rglob("words-*.txt"))
    assert sorted(line for file in files for line in file.read_text().splitlines()) == ["(a,3)", "(b,2)", "(c,1)"]
    assert not list(target.rglob(".*")), "nothing is left over"


def test_generated_words_are_counted_one_by_one() -> None:
    counts: dict[str, list[int]] = {}
    for line in run("generated_words.py"):
        word, count = line.strip("()").split(",")
        counts.setdefault(word, []).append(int(count))
    assert set(counts) <= {"flink", "window", "timer", "state", "sql"}
    assert all(sorted(found) == list(range(1, len(found) + 1)) for found in counts.values())
    assert sum(map(len, counts.values())) == 100


def test_failed_calls_are_retried() -> None:
    found = [json.loads(line) for line in run("judged.py")]
    expected = [{"user_id": n, "comments": f"comment {n}", "result": "positive"} for n in range(30)]
    assert sorted(found, key=lambda answer: int(answer["user_id"])) == expected
