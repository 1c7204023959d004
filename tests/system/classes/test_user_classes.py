"""Classes of the user's program as elements, keys, state, accumulators and broadcast values, wherever they are defined.

Each test runs a program in its own process, because the classes must be those of a real main module. It runs the pipelines of
all families of classes in the harness, and in another process that gets the program as a worker of Spark does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.locations import ROOT
from tests.system.classes import families, spark_job

FAMILIES = Path(__file__).with_name("families.py").read_text()
RUN = """
import json
from tests.system.classes.workers import try_harness, try_worker

if __name__ == "__main__":
    print(json.dumps({"harness": try_harness(FAMILIES), "worker": try_worker(FAMILIES)}))
"""
SPARK = """
import sys
from pathlib import Path
from typing import Any
import penstock as ps
from tests.system.classes import spark_job

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    settings = {"execution.checkpointing.dir": f"{folder}/checkpoints", "state.local.dir": f"{folder}/local"}
    env = ps.StreamExecutionEnvironment.get_execution_environment(ps.Configuration(settings))
    spark_job.run(env, FAMILIES, folder)
"""
CELLS = """
cells = [{families!r}, {families!r}, {run!r}]
for cell in cells:  # the first cell is run twice, so the classes of the first run are replaced
    exec(compile(cell, "<cell>", "exec"), globals())
"""


def _in_function(run: str) -> str:
    body = textwrap.indent(FAMILIES, "    ").replace('    """', '    r"""', 1)
    # Python itself cannot resolve the name of a local class or import in an annotation.
    names = "f._replace(declared=f.declared and f.name not in ('frozenorder', 'node')) for f in define()"
    return f"def define():\n{body}\n    return FAMILIES\n\nFAMILIES = [{names}]\n{run}"


def _write_program(place: str, folder: Path, run: str = RUN) -> list[str]:
    """Writes a program with the classes in a place. Returns the arguments of Python that run it."""
    script = folder / "job.py"
    if place == "module":
        (folder / "my_classes.py").write_text(FAMILIES)
        script.write_text(f"from my_classes import FAMILIES\n{run}")
    elif place == "package":
        (folder / "my_package" / "orders").mkdir(parents=True)
        (folder / "my_package" / "orders" / "classes.py").write_text(FAMILIES)
        script.write_text(f"from my_package.orders.classes import FAMILIES\n{run}")
    elif place == "notebook":
        return ["-c", CELLS.format(families=FAMILIES, run=run)]
    else:
        texts = {
            "script": FAMILIES + run,
            "script with annotations as text": "from __future__ import annotations\n" + FAMILIES + run,
            "function": _in_function(run),
        }
        script.write_text(texts[place])
    return [str(script)]


def _run(command: list[str], folder: Path, *path: Path) -> subprocess.CompletedProcess[str]:
    found = [*map(str, path), str(ROOT), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(found), "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
@pytest.mark.parametrize(
    "place",
    [
        pytest.param("script", marks=pytest.mark.long),  # a test below runs it on Spark
        "script with annotations as text",
        "notebook",
        pytest.param("function", marks=pytest.mark.long),  # pickled by value like a script
        pytest.param("module", marks=pytest.mark.long),  # imported like a package
        "package",
    ],
)
def test_all_families_work_in_all_roles(place: str, tmp_path: Path) -> None:
    ran = _run([sys.executable, *_write_program(place, tmp_path)], tmp_path, tmp_path)
    assert ran.returncode == 0, ran.stderr
    problems = json.loads(ran.stdout)
    assert problems == {"harness": {}, "worker": {}}, "\n\n".join(
        f"{where}, {family}: {text}" for where, found in problems.items() for family, text in found.items()
    )


def _expected_counts(rounds: int, others: int = 0) -> dict[str, int]:
    """How many objects of each family come back. Objects that can be keys come back a second time."""
    counts = {family.name: rounds * (3 if family.key else 2) for family in families.FAMILIES}
    return counts | {"order": counts["order"] + others} | ({"bad line": 1} if others else {})


def _counts(ran: subprocess.CompletedProcess[str]) -> Any:
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.spark
@pytest.mark.slow
def test_a_job_is_run_and_resumed_with_all_families(tmp_path: Path) -> None:
    """Objects are read from state after the resumption. The file of lines is read before it."""
    program = _write_program("script", tmp_path, SPARK)
    command = [sys.executable, "-m", "penstock", "run", *program, str(tmp_path), "--master", "local[2]"]
    failed = _run(command, tmp_path)
    assert "raised RuntimeError: not repaired" in failed.stderr
    (tmp_path / "repaired").touch()
    (checkpoint,) = (tmp_path / "checkpoints").iterdir()
    assert _counts(_run([*command, "--resume", str(checkpoint)], tmp_path)) == _expected_counts(2)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "way"),
    [
        ("script", "python"),
        ("script", "spark-submit"),
        ("notebook", "python"),
        ("function", "python"),
        ("package", "python"),
    ],
)
def test_other_ways_to_run_a_job(place: str, way: str, tmp_path: Path) -> None:
    (tmp_path / "repaired").touch()
    program = _write_program(place, tmp_path, SPARK)
    command = [sys.executable] if way == "python" else [str(Path(pyspark.__file__).parent / "bin" / "spark-submit")]
    assert _counts(_run([*command, *program, str(tmp_path)], tmp_path)) == _expected_counts(spark_job.ROUNDS, others=2)
