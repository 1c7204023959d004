"""`import penstock` is cheap: no JVM, no pyspark."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

LOOK = """
import json, sys, time
began = time.perf_counter()
import {module}
spent = time.perf_counter() - began
print(json.dumps([spent, sorted({{name.split(".")[0] for name in sys.modules}})]))
"""


@pytest.mark.parametrize("module", ["penstock", "penstock.connectors", "penstock.testing", "penstock.cli.main"])
def test_import_starts_no_spark(module: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", LOOK.format(module=module)], capture_output=True, text=True, check=True
    )
    seconds, modules = json.loads(shown.stdout)
    print(f"import {module}: {seconds:.2f} s")
    assert not {"pyspark", "py4j"} & set(modules)
