"""State of classes in the main module, restored from the checkpoint of a failed run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.cli.test_run_on_spark import penstock

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.long]

PROGRAM = """
from __future__ import annotations

from dataclasses import dataclass

import msgspec
import penstock as ps

CLASSES


class Running(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", Total))
        self.cents = runtime_context.get_state(ps.ValueStateDescriptor("cents", Cents))

    def process_element(self, value, ctx):
        STEP
        yield f"{value} {self.total.value()} {self.cents.value()}"


env = ps.StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_sequence(1, 8).uid("numbers")
numbers.key_by(lambda n: Key(odd=n % 2, name="n"), key_type=Key).process(Running()).uid("running").print()
env.execute("running")
"""

BEFORE = (
    """
class Part(msgspec.Struct, rename="camel"):
    how_many: int


@dataclass(frozen=True)
class Key:
    odd: int
    name: str


@dataclass
class Total:
    total: int
    parts: list[Part]


@dataclass
class Cents:
    cents: int
""",
    """\
        if value == 7:
            raise ValueError("seven is too much")
        old = self.total.value() or Total(0, [])
        self.total.update(Total(old.total + value, [*old.parts, Part(value)]))
        self.cents.update(Cents(value * 100))
""",
)
AFTER = (
    """
@dataclass(frozen=True)
class Key:
    name: str
    odd: int
    tenant: str = "first"


@ps.state_type(aliases={"count": "howMany"})
class Part(msgspec.Struct, rename="camel"):
    count: float
    unit_name: str = "pieces"


@ps.state_type(aliases={"sum": "total"})
@dataclass
class Total:
    parts: list[Part]
    sum: float


@ps.state_type(version=2, migrate=lambda version, old: Cents(old["cents"] / 100, version))
@dataclass
class Cents:
    euros: float
    version: int
""",
    "        pass\n",
)


def program(path: Path, parts: tuple[str, str]) -> str:
    classes, step = parts
    path.write_text(PROGRAM.replace("CLASSES", classes).replace("        STEP\n", step))
    return str(path)


def test_classes_of_the_main_module(tmp_path: Path) -> None:
    options = ("--master", "local[2]", "-D", "source.batch.records=3", "-D", f"execution.checkpointing.dir={tmp_path}")
    first = program(tmp_path / "before.py", BEFORE)
    second = program(tmp_path / "after.py", AFTER)
    failed = penstock("run", first, *options)
    assert "--resume " in failed.stderr, failed.stderr
    checkpoint = failed.stderr.split("--resume ")[1].split()[0]

    checked = penstock("savepoints", "check", checkpoint, second, "--values")
    assert checked.returncode == 0, checked.stderr
    assert "running: total: parts[].count: was called 'howMany'" in checked.stdout
    assert "running: cents: version 1 is converted to 2 by its migrate function" in checked.stdout
    assert "running: (key): tenant: was added with a default" in checked.stdout
    assert "running: (key): 2 keys converted, 0 failed" in checked.stdout

    refused = penstock("run", second, *options, "--resume", checkpoint)
    assert "STATE_CHANGED" in refused.stderr
    assert "The keys of operator 'running' have another type" in refused.stderr

    result = penstock("run", second, *options, "--from-savepoint", checkpoint)
    assert result.returncode == 0, result.stderr
    seven, eight = result.stdout.splitlines()
    pieces = ", ".join(f"Part(count={n}, unit_name='pieces')" for n in (1.0, 3.0, 5.0))
    assert seven == f"7 Total(parts=[{pieces}], sum=9.0) Cents(euros=5.0, version=1)"
    assert eight.endswith("sum=12.0) Cents(euros=6.0, version=1)")
