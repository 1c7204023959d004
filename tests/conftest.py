"""What all tests share: the way for Spark's workers to find the tests' modules, one Spark session, our own options, a
registry of runs of their own, and real servers."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from penstock import redaction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.hdfs_server import Hdfs
    from tests.servers import Kafka, Redis, TestServer

Server = TypeVar("Server", bound="TestServer")
ROOT = str(Path(__file__).parent.parent)
os.environ["PYTHONPATH"] = os.pathsep.join(p for p in (ROOT, os.environ.get("PYTHONPATH", "")) if p)

if "PENSTOCK_HOME" not in os.environ:
    os.environ["PENSTOCK_HOME"] = tempfile.mkdtemp(prefix="penstock-tests-")
    atexit.register(shutil.rmtree, os.environ["PENSTOCK_HOME"], ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", metavar="DIR", help="run tests/conformance with the cases of this folder, not our own")


@pytest.fixture(autouse=True)
def secrets_of_one_test() -> Iterator[None]:
    """What a test hides from errors and logs is not hidden in those of the next one."""
    known, pattern = dict(redaction._known), redaction._pattern
    yield
    redaction._known.clear()
    redaction._known.update(known)
    redaction._pattern = pattern


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


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    """One broker for all tests that need one. A test that stops it starts it again."""
    from tests.servers import Kafka

    yield from _while_it_runs(Kafka())


@pytest.fixture(scope="session")
def redis() -> Iterator[Redis]:
    """One Redis server for all tests that need one."""
    from tests.servers import Redis

    yield from _while_it_runs(Redis())


@pytest.fixture(scope="session")
def hdfs() -> Iterator[Hdfs]:
    """One HDFS for all tests that need one. A test that stops it starts it again."""
    from tests.hdfs_server import Hdfs

    yield from _while_it_runs(Hdfs())


def _while_it_runs(server: Server) -> Iterator[Server]:
    yield server
    server.stop()
    shutil.rmtree(server.folder, ignore_errors=True)
