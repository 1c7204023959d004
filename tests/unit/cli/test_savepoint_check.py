"""`penstock savepoints check`: the table, messages, JSON and exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import penstock as ps
from penstock.cli.main import app
from penstock.testing import Harness

PROGRAM = """
from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import penstock as ps


class Tag(msgspec.Struct):
    text: str


CLASS


class Spending(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        self.spent = runtime_context.get_state(ps.ValueStateDescriptor("spent", Spent))
        self.any = runtime_context.get_state(ps.ValueStateDescriptor("any"))

    def process_element(self, value, ctx):
        yield value


env = ps.StreamExecutionEnvironment.get_execution_environment()
env.from_sequence(1, 8).uid("numbers").key_by(lambda n: n).process(Spending()).uid("spending").print()
env.execute("spending")
"""

FITS = """
@ps.state_type(aliases={"total": "sum"})
@dataclass
class Spent:
    total: float
    tags: list[Tag] = field(default_factory=list)
"""
NO_DEFAULT = """
@dataclass
class Spent:
    sum: int
    tags: list[Tag]
"""
NEVER = """
@ps.state_type(version=2, migrate=lambda version, old: Spent(1 // (old["sum"] - 2)))
@dataclass
class Spent:
    total: float
"""


@dataclass
class Spent:
    sum: int


class Spending(ps.KeyedProcessFunction[Any, Any, Any]):
    def open(self, runtime_context: Any) -> None:
        self.spent = runtime_context.get_state(ps.ValueStateDescriptor("spent", Spent))
        self.any = runtime_context.get_state(ps.ValueStateDescriptor("any"))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.spent.update(Spent(value))
        self.any.update({value})
        yield value


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_sequence(1, 3).uid("numbers").key_by(lambda n: n).process(Spending()).uid("spending")
    harness = Harness(env)
    harness.collect(stream)
    return harness.run(max_batches=1).savepoint(tmp_path_factory.mktemp("savepoint") / "one")


def run_check(savepoint: str, folder: Path, text: str, *options: str) -> Result:
    program = folder / "job.py"
    program.write_text(PROGRAM.replace("CLASS", text))
    return CliRunner().invoke(app, ["savepoints", "check", *options, savepoint, str(program)])


def test_the_table(savepoint: str, tmp_path: Path) -> None:
    result = run_check(savepoint, tmp_path, FITS)
    assert result.exit_code == 0, result.output
    lines = {line.split()[1]: line for line in result.output.splitlines() if line.startswith("spending ")}
    assert "value: Spent(sum: int)" in lines["spent"]
    assert "value: Spent(total: float, tags: list[Tag])" in lines["spent"]
    assert "after migration" in lines["spent"]
    assert "as is" in lines["any"]
    assert "spending: spent: total: was called 'sum'" in result.output
    assert "spending: spent: tags: was added with a default" in result.output
    assert "spending: any: no declared type" in result.output
    assert result.output.splitlines()[-1] == "Job 'spending' can start from it."


def test_an_incompatible_state(savepoint: str, tmp_path: Path) -> None:
    result = run_check(savepoint, tmp_path, NO_DEFAULT)
    assert result.exit_code == 1
    assert "incompatible" in result.output
    assert "tags: was added without a default" in result.output
    assert result.output.splitlines()[-1] == "Job 'spending' cannot start from it."


def test_json(savepoint: str, tmp_path: Path) -> None:
    result = run_check(savepoint, tmp_path, FITS, "--json")
    output = json.loads(result.stdout)
    assert (output["job"], output["fits"]) == ("spending", True)
    assert {s["state"]: s["verdict"] for s in output["states"]} == {
        "(key)": "not known before the job runs",
        "spent": "after migration",
        "any": "as is",
    }
    assert {p["uid"]: p["verdict"] for p in output["parts"]} == {
        "numbers": "as is",
        "spending": "as is",
        "sink-1": "new",
    }


def test_values_converts_every_value(savepoint: str, tmp_path: Path) -> None:
    assert run_check(savepoint, tmp_path, NEVER).exit_code == 0  # without --values, the migrate function is not called
    result = run_check(savepoint, tmp_path, NEVER, "--values")
    assert result.exit_code == 1
    assert "3 values converted, 1 failed" in result.output
    assert "ZeroDivisionError" in result.output
    result = run_check(savepoint, tmp_path, FITS, "--values")
    assert result.exit_code == 0
    assert "3 values converted, 0 failed" in result.output


KEYED = """
from __future__ import annotations

from dataclasses import dataclass

import penstock as ps

CLASS


env = ps.StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_sequence(1, 8).uid("numbers").key_by(lambda n: None, key_type=KEY)
numbers.reduce(lambda a, b: a + b).uid("sums").print()
env.execute("sums")
"""
KEYS = {
    "reordered": ("@dataclass(frozen=True)\nclass Sale:\n    shop: int\n    region: str", "Sale"),
    "removed": ("@dataclass(frozen=True)\nclass Sale:\n    region: str", "Sale"),
    "refused": ("", "ps.Types.LONG().evolved(version=2, migrate=lambda version, old: 6 // (old['shop'] - 2))"),
    "incompatible": ("", "str"),
    "same": ("@dataclass(frozen=True)\nclass Sale:\n    region: str\n    shop: int", "Sale"),
}


@dataclass(frozen=True)
class Sale:
    region: str
    shop: int


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> str:
    env = ps.StreamExecutionEnvironment()
    numbers = env.from_sequence(1, 3).uid("numbers").key_by(lambda n: Sale("north", n), key_type=Sale)
    harness = Harness(env)
    harness.collect(numbers.reduce(lambda a, b: a + b).uid("sums"))
    return harness.run(max_batches=1).savepoint(tmp_path_factory.mktemp("savepoint") / "sales")


def run_key_check(savepoint: str, folder: Path, keys: str, *options: str) -> Result:
    text, declared = KEYS[keys]
    program = folder / "job.py"
    program.write_text(KEYED.replace("CLASS", text).replace("KEY", declared))
    return CliRunner().invoke(app, ["savepoints", "check", *options, savepoint, str(program)])


@pytest.mark.parametrize(
    ("keys", "verdict", "code"),
    [
        ("reordered", "after migration", 0),
        ("removed", "after migration", 0),
        ("incompatible", "incompatible", 1),
        ("same", "as is", 0),
    ],
)
def test_the_row_of_the_keys_of_an_operator(sales: str, tmp_path: Path, keys: str, verdict: str, code: int) -> None:
    result = run_key_check(sales, tmp_path, keys)
    assert result.exit_code == code, result.output
    (line,) = [line for line in result.output.splitlines() if line.startswith("sums ") and " (key) " in line]
    assert line.split()[:5] == ["sums", "(key)", "Sale(region:", "str,", "shop:"]
    assert line.rstrip().endswith(verdict)


def test_differences_of_keys(sales: str, tmp_path: Path) -> None:
    assert "sums: (key): the order of the fields changed" in run_key_check(sales, tmp_path, "reordered").output
    assert "sums: (key): field 'shop' was removed" in run_key_check(sales, tmp_path, "removed").output
    assert (
        "sums: (key): Sale cannot be converted to str automatically"
        in run_key_check(sales, tmp_path, "incompatible").output
    )


def test_values_converts_every_key(sales: str, tmp_path: Path) -> None:
    result = run_key_check(sales, tmp_path, "reordered", "--values")
    assert result.exit_code == 0
    assert "sums: (key): 3 keys converted, 0 failed" in result.output
    result = run_key_check(sales, tmp_path, "removed", "--values")
    assert result.exit_code == 1
    assert "sums: (key): 3 keys converted, 1 failed" in result.output
    assert "of operator 'sums' both become Sale('north')" in result.output
    result = run_key_check(sales, tmp_path, "refused", "--values", "--json")
    (tried,) = json.loads(result.stdout)["values"]
    assert (tried["operator"], tried["state"], tried["values"], tried["failed"]) == ("sums", "(key)", 3, 1)
    assert "Key Sale('north', 2) of operator 'sums' cannot be converted to type LONG" in tried["reasons"][0]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ('.uid("numbers")', '.uid("others")', "The job has no source 'numbers'."),
        ("env.from_sequence(1, 8)", "env.from_collection([1, 2])", "Source 'numbers' was a NumberSequenceSource"),
        (
            '.process(Spending()).uid("spending")',
            '.count_window(2).reduce(lambda a, b: a).uid("spending")',
            "Operator 'spending' was a process function when the savepoint was taken, and is a window now",
        ),
        (
            "key_by(lambda n: n)",
            'key_by(lambda n: "a", key_type=str)',
            "saved keys of type int are not keys of type str",
        ),
    ],
)
def test_the_whole_job_is_compared(savepoint: str, tmp_path: Path, before: str, after: str, expected: str) -> None:
    program = tmp_path / "job.py"
    text = PROGRAM.replace("CLASS", FITS)
    assert before in text
    program.write_text(text.replace(before, after))
    result = CliRunner().invoke(app, ["savepoints", "check", savepoint, str(program)])
    assert expected in result.output
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == "Job 'spending' cannot start from it."


def test_no_savepoint(tmp_path: Path) -> None:
    result = run_check(str(tmp_path / "nothing"), tmp_path, FITS)
    assert result.exit_code == 1
    assert "NO_SAVEPOINT" in result.output
