"""`import penstock` does not start a JVM and does not import pyspark."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys, time
start = time.perf_counter()
import {module}
duration = time.perf_counter() - start
print(json.dumps([duration, sorted({{name.split(".")[0] for name in sys.modules}})]))
"""


@pytest.mark.parametrize("module", ["penstock", "penstock.connectors", "penstock.testing", "penstock.cli.main"])
def test_import_starts_no_spark(module: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module=module)], capture_output=True, text=True, check=True
    )
    seconds, modules = json.loads(result.stdout)
    print(f"import {module}: {seconds:.2f} s")
    assert not {"pyspark", "py4j"} & set(modules)
