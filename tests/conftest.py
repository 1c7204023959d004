"""What all tests share: the way for Spark's workers to find the tests' modules, one Spark session, our own options, and a
registry of runs of their own."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = str(Path(__file__).parent.parent)
os.environ["PYTHONPATH"] = os.pathsep.join(p for p in (ROOT, os.environ.get("PYTHONPATH", "")) if p)

if "PENSTOCK_HOME" not in os.environ:
    os.environ["PENSTOCK_HOME"] = tempfile.mkdtemp(prefix="penstock-tests-")
    atexit.register(shutil.rmtree, os.environ["PENSTOCK_HOME"], ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", metavar="DIR", help="run tests/conformance with the cases of this folder, not our own")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests that need one."""
    import penstock as ps
    from penstock.spark.session import get_session  # pyspark only where it is needed

    settings = {"spark.master": "local[2]", "spark.driver.memory": "3g"}
    # Tests are short jobs: they end before the JVM's second compiler pays.
    settings["spark.jvm-options"] = "-XX:TieredStopAtLevel=1"
    session = get_session(ps.Configuration(settings))
    yield session
    session.stop()
