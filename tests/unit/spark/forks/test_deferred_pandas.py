"""pyarrow does not import pandas in workers, and recognises its objects once a function imports it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import pyarrow as pa
from penstock.spark.forks.deferred_pandas import defer_pandas
defer_pandas()
pa.array([1.0, None])
import pyspark.testing.utils
print("pandas" in sys.modules)
"""


def run(program: str) -> list[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM + program], capture_output=True, text=True, check=True
    ).stdout.split("\n")[:-1]


@pytest.mark.parametrize("way", ["import pandas as pd", "from pandas import Series; import pandas as pd"])
def test_objects_of_pandas_are_recognised_after_its_import(way: str) -> None:
    """Not-a-number in a Series becomes NULL, and in a list it does not."""
    lines = run(
        f"{way}\nprint(pa.array(pd.Series([1.0, float('nan')])).null_count, pa.array([float('nan')]).null_count)"
    )
    assert lines == ["False", "1 0"]


def test_a_conversion_imports_pandas() -> None:
    assert run("print(type(pa.array([1]).to_pandas()).__name__)") == ["False", "Series"]


def test_looking_for_pandas_does_not_import_it() -> None:
    program = "import importlib.util; print(importlib.util.find_spec('pandas') is not None, 'pandas' in sys.modules)"
    assert run(program) == ["False", "True False"]


def test_nothing_changes_if_pandas_is_imported_already() -> None:
    program = "import pandas; n = len(sys.meta_path); defer_pandas(); print(len(sys.meta_path) == n)"
    assert run(program) == ["False", "True"]
