"""Functions for Spark tasks outside a job."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.locations import ROOT

PROGRAM = """
import pickle, subprocess, sys
from dataclasses import dataclass

from pyspark import cloudpickle
from penstock.spark.session.pickling import TaskFunction


@dataclass
class Order:
    id: int


stored = pickle.dumps(Order(3))  # for example a value in a savepoint
call = "import sys; from pyspark import cloudpickle; function, data = cloudpickle.load(sys.stdin.buffer); print(function(data))"
function = TaskFunction(lambda data: pickle.loads(data))
done = subprocess.run([sys.executable, "-c", call], input=cloudpickle.dumps((function, stored)), capture_output=True)
print(done.stdout.decode() + done.stderr.decode())
"""


def test_a_function_in_a_task_reads_objects_of_the_main_module() -> None:
    """`SavepointReader.dataframe` reads pickled values in tasks."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.stdout.strip() == "Order(id=3)", done.stderr
