"""A module next to the program, which may import PyFlink, can be imported by Spark processes on the driver machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import PlanError
from penstock.spark.session.error_transport import translate_error

PROGRAM = """
import sys
import penstock as ps
from penstock.engine.program.builder import build_program
from penstock.pyflink import install
from penstock.spark.session.pickling import pickle_program
from penstock.spark.session.worker_setup import WorkerSetup

if AS_PYFLINK:
    install()
from beside import even

env = ps.StreamExecutionEnvironment.get_execution_environment(ps.Configuration({"parallelism.default": 2}))
env.from_collection([1, 2]).filter(even).print()
sys.stdout.buffer.write(pickle_program(build_program(env.graph("found")), WorkerSetup()))
"""
READ = """
import sys
from penstock.spark.session.pickling import unpickle_program
print(unpickle_program(sys.stdin.buffer.read()).name)
"""


def test_module_of_a_folder_that_the_program_added_to_its_path(tmp_path: Path) -> None:
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "beside.py").write_text("def even(n):\n    return n % 2 == 0\n")
    program = tmp_path / "program.py"
    added = f"import sys\nsys.path.insert(0, {str(tmp_path / 'libs')!r})\n"
    program.write_text(added + PROGRAM.replace("AS_PYFLINK", "False"))
    pickled = subprocess.run([sys.executable, str(program)], capture_output=True, check=True)
    read = subprocess.run([sys.executable, "-c", READ], input=pickled.stdout, capture_output=True, cwd="/", check=False)
    assert read.stdout.decode().strip() == "found", read.stderr.decode()
    (tmp_path / "libs").rename(tmp_path / "elsewhere")  # as on another machine
    read = subprocess.run([sys.executable, "-c", READ], input=pickled.stdout, capture_output=True, cwd="/", check=False)
    error = translate_error(RuntimeError(read.stderr.decode()))
    assert isinstance(error, PlanError)
    assert (error.code, "the module 'beside'" in error.text) == ("MODULE_NOT_SHIPPED", True)


@pytest.mark.parametrize("as_pyflink", [False, True])
def test_module_next_to_the_program_is_imported(tmp_path: Path, as_pyflink: bool) -> None:
    import_line = "from pyflink.common import Types" if as_pyflink else "import json"
    (tmp_path / "beside.py").write_text(f"{import_line}\n\n\ndef even(n):\n    return n % 2 == 0\n")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("AS_PYFLINK", str(as_pyflink)))
    pickled = subprocess.run([sys.executable, str(program)], capture_output=True, check=True)
    read = subprocess.run([sys.executable, "-c", READ], input=pickled.stdout, capture_output=True, cwd="/", check=False)
    assert read.stdout.decode().strip() == "found", read.stderr.decode()
