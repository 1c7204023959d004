"""Plugin of pytest for PyFlink's test files: one Spark session, a time limit per test, and a record of each test."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
import unittest
import warnings
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(os.environ["PYFLINK_SUITE_TESTS"])
RESULTS = Path(os.environ["PYFLINK_SUITE_RESULTS"])
LIMIT = int(os.environ.get("PYFLINK_SUITE_LIMIT", "180"))

if os.environ.get(
    "PYFLINK_SUITE_WITH_SKIPPED"
):  # Flink skips tests of its Kafka connector, which is in another repository

    def _skip(reason: str) -> Any:
        return (lambda thing: thing) if "Kafka connector" in reason or "cyclic" in reason else _real_skip(reason)

    _real_skip = unittest.skip
    unittest.skip = _skip

from tests.pyflink_suite.shim import java  # noqa: E402
from tests.pyflink_suite.shim.install import by_value, install  # noqa: E402

install(TESTS)
RECORDS: list[dict[str, Any]] = []


class Hang(BaseException):
    """A test took longer than its limit."""


class _Module(pytest.Module):
    def _getobj(self) -> Any:
        return by_value(".".join(self.path.relative_to(TESTS).with_suffix("").parts))


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> Any:
    return _Module.from_parent(parent, path=module_path)


@pytest.fixture(scope="session", autouse=True)
def spark() -> Any:
    """The session of all tests, or None if PENSTOCK_OPTIONS chooses the local engine."""
    if "local" in os.environ.get("PENSTOCK_OPTIONS", ""):
        yield None
        return
    import penstock as ps
    from penstock.spark.session.session import get_session

    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "3g",
        "spark.jvm-options": "-XX:TieredStopAtLevel=1",
    }
    began = time.time()
    session = get_session(ps.Configuration(settings))
    print(f"\nSpark started in {time.time() - began:.1f} s", flush=True)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def one_test(request: Any, spark: Any) -> Any:
    from penstock.datastream.settings.job_settings import JobSettings

    env = getattr(request.cls, "env", None)
    if env is not None:
        env.close()  # streams of an earlier test that failed are not run with this one
    zone = os.environ.get("TZ")
    os.environ["PYFLINK_SUITE_TEST_STARTED"] = str(time.time())
    yield
    JobSettings._local_parallelism = None
    for query in spark.streams.active if spark is not None else ():
        query.stop()
    if os.environ.get("TZ") != zone:
        os.environ.pop("TZ", None)
        if zone is not None:
            os.environ["TZ"] = zone
        time.tzset()


@pytest.fixture(autouse=True)
def error_of_py4j(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the error of a failed job, which PyFlink raises as an error of py4j, an error of Penstock."""
    if request.node.name != "test_function_with_error" and "/table/" not in str(request.node.path):
        return
    import py4j.protocol  # type: ignore[import-untyped]

    from penstock.errors import PenstockError

    class Either(type):
        def __instancecheck__(cls, thing: Any) -> bool:
            return isinstance(thing, (PenstockError, ValueError, TypeError))

        def __subclasscheck__(cls, kind: Any) -> bool:
            return issubclass(kind, (PenstockError, ValueError, TypeError))

    java.USED.append("Py4JJavaError")
    either = Either("Py4JJavaError", (Exception,), {})
    monkeypatch.setattr(py4j.protocol, "Py4JJavaError", either)
    if hasattr(request.module, "Py4JJavaError"):  # a test file that imports the name at its top
        monkeypatch.setattr(request.module, "Py4JJavaError", either)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> Any:
    java.USED.clear()
    record = {"test": item.nodeid, "outcome": "passed", "seconds": 0.0, "error": "", "kind": "", "traceback": ""}
    item._shim_record = record

    def alarm(*_: Any) -> None:
        where = "".join(traceback.format_stack(sys._getframe(1))[-6:])
        raise Hang(f"longer than {LIMIT} s; at\n{where}")

    signal.signal(signal.SIGALRM, alarm)
    signal.alarm(LIMIT)
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    signal.alarm(0)
    record["seconds"] = round(time.monotonic() - began, 3)
    record["stand_ins"] = sorted(set(java.USED))
    RECORDS.append(record)
    RESULTS.write_text(json.dumps(RECORDS, indent=1))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    result = yield
    report = result.get_result()
    record = item._shim_record
    if report.skipped and record["outcome"] == "passed":
        record["outcome"] = "skipped"
        record["error"] = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    elif report.failed and record["outcome"] in ("passed", "skipped"):
        error = call.excinfo
        record["outcome"] = "failed"
        record["when"] = report.when
        record["kind"] = error.type.__name__ if error else ""
        record["error"] = str(error.value) if error else ""
        record["traceback"] = str(report.longrepr)[-6000:]
    if call.when == "call":
        record["call_seconds"] = round(call.duration, 3)
