"""Fixtures and hooks of all tests: one Spark session, real servers, a job registry of their own, and the cleanup of the run."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

from penstock import redaction
from tests.cleanup import TestRun
from tests.locations import ROOT
from tests.long_tests import is_long
from tests.slow_files import start_order
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.hdfs_server import Hdfs
    from tests.servers import Kafka, Postgres, Redis, TestServer

Server = TypeVar("Server", bound="TestServer")

# Spark's Python workers import test modules.
os.environ["PYTHONPATH"] = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
# Jobs of tests are short: they end before the second compiler of the JVM pays, which takes half of the time of a start.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")
# A time limit per example, or for drawing examples, would fail on a busy machine. Examples are the same in each run, so that a
# change is not blamed for a defect that was there before; `make test-long` searches with --hypothesis-profile=random.
_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("random", _ANY_SPEED)
settings.register_profile("penstock", _ANY_SPEED, derandomize=True)
settings.load_profile("penstock")

_JVM_FIXTURES = frozenset({"spark", "kafka", "hdfs"})
_run = TestRun()


def pytest_configure() -> None:
    os.environ.pop("COLUMNS", None)  # xdist sets it in its workers; the output of commands depends on it
    # Cleans up as after Ctrl-C. The default action would end the process at once.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # nohup and a shell's & start programs with signals ignored, which the jobs of the tests would inherit.
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, default)


def pytest_unconfigure() -> None:
    _run.finish()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests that use a server or a session in a JVM, and tests on Spark that run in `make test-long` only.

    Files that take long come first, so that all processes are busy until the end.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        if item.get_closest_marker("spark") and is_long(item.nodeid):
            item.add_marker("long")
        if _JVM_FIXTURES.intersection(getattr(item, "fixturenames", ())) or item.get_closest_marker("spark"):
            item.add_marker("jvm")
    items.sort(key=lambda item: start_order(item.path, ROOT / "tests"))  # otherwise in random order, as before


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases", metavar="DIR", help="run tests/conformance with the cases in this folder instead of its own"
    )


@pytest.fixture(autouse=True)
def secrets_of_one_test() -> Iterator[None]:
    """Forgets the secrets of a test, so that their text is not redacted in the next one."""
    known, pattern = dict(redaction._known), redaction._pattern
    yield
    redaction._known.clear()
    redaction._known.update(known)
    redaction._pattern = pattern


@contextlib.contextmanager
def _own_runs() -> Iterator[None]:
    """Ends the jobs that are started inside and still run at the end.

    A job that was cancelled a moment ago, such as that of a closed result, ends in a thread of its own.
    """
    from penstock.jobs.run.run import active_runs

    before = active_runs()
    yield
    left = [run for run in active_runs() if run not in before]
    for run in left:
        run.request_end("cancel")
    with contextlib.suppress(AssertionError):  # the jobs of some tests are not real
        until(lambda: not set(left).intersection(active_runs()), seconds=5)
    for run in left:
        run.end("cancelled")


@pytest.fixture(autouse=True)
def runs_of_one_test() -> Iterator[None]:
    """Ends the jobs that a test started and that still run, so that the next test does not find them."""
    with _own_runs():
        yield


@pytest.fixture(autouse=True, scope="module")
def runs_of_one_file() -> Iterator[None]:
    """Ends the jobs that the fixtures of a file started and that still run."""
    with _own_runs():
        yield


@pytest.fixture(autouse=True)
def event_loop_of_one_test() -> Iterator[None]:
    """Ends the event loop that a test started and did not close, so that the next test starts its own."""
    from penstock.runtime.async_io.event_loop import EventLoop

    before = EventLoop._shared
    yield
    after = EventLoop._shared
    if after is not None and after is not before:
        after.abandon()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests that need one."""
    import penstock as ps
    from penstock.spark.session.session import get_session  # pyspark only where it is needed

    # It would write the archive of Spark's classes when the tests end; a job that ends earlier writes it for the other ones.
    settings = {"spark.master": "local[2]", "spark.driver.memory": "3g", "spark.class-archive": False}
    session = get_session(ps.Configuration(settings))
    gateway: Any = session.sparkContext._gateway
    yield session
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()  # ends the JVM, which pyspark would leave running until this process ends
    gateway.proc.wait(60)


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
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL server for all tests that need one. Without an installed PostgreSQL they are skipped."""
    from penstock.devservers.postgres import has_postgres

    pytest.importorskip("psycopg", reason="the driver of PostgreSQL is not installed")
    if not has_postgres():
        pytest.skip("PostgreSQL is not installed")
    from tests.servers import Postgres

    yield from _while_it_runs(Postgres())


@pytest.fixture(scope="session")
def hdfs() -> Iterator[Hdfs]:
    """One HDFS for all tests that need one. A test that stops it starts it again."""
    from tests.hdfs_server import Hdfs

    yield from _while_it_runs(Hdfs())


def _while_it_runs(server: Server) -> Iterator[Server]:
    yield server
    server.stop()
    shutil.rmtree(server.folder, ignore_errors=True)
