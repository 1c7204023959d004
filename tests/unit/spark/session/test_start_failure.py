"""Errors of a Spark that does not start have a code and a remedy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import ConfigError
from penstock.spark.session.start_failure import check_pyspark, start_error


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        (
            "py4j.Py4JException: java.net.BindException: Cannot assign requested address: Service 'sparkDriver' failed",
            "SPARK_BIND",
            "Cannot assign requested address",
        ),
        ("java.net.UnknownHostException: nowhere: Name or service not known", "SPARK_HOST", "nowhere"),
        ("org.apache.spark.SparkException: Could not parse Master URL: 'spork'", "SPARK_MASTER", "spork"),
        ("org.apache.spark.SparkException: Master must either be yarn or start with spark", "SPARK_MASTER", "spork"),
        (
            "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.",
            "SPARK_START",
            "java -version",
        ),
        ("", "SPARK_START", "RuntimeError"),
    ],
)
def test_each_cause_has_its_code(text: str, code: str, part: str) -> None:
    error = start_error(RuntimeError(text), "spork")
    assert error.code == code
    assert part in error.text


@pytest.mark.parametrize("version", ["4.1.0", "3.5.1", "4.1.0.dev1"])
def test_an_old_pyspark_is_refused(version: str) -> None:
    with pytest.raises(ConfigError, match=rf"PYSPARK\] PySpark {version} is installed, but Penstock needs 4.2"):
        check_pyspark(version)


@pytest.mark.parametrize("version", ["4.2.0", "4.3.0", "5.0"])
def test_a_new_pyspark_is_accepted(version: str) -> None:
    check_pyspark(version)


def test_an_old_pyspark_is_reported_before_an_import_fails() -> None:
    program = (
        "import importlib.metadata as m; real = m.version\n"
        "m.version = lambda name: '3.5.1' if name == 'pyspark' else real(name)\n"
        "import penstock.spark.engine"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "[PYSPARK] PySpark 3.5.1 is installed" in done.stderr.splitlines()[-1]


@pytest.mark.spark
@pytest.mark.slow
def test_a_driver_that_cannot_bind_its_address(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "import penstock as ps\nenv = ps.StreamExecutionEnvironment()\nenv.from_collection([1]).print()\nenv.execute()\n"
    )
    options = ["--master", "local[1]", "-D", "spark.driver.bindAddress=192.0.2.1", "-D", "spark.port.maxRetries=1"]
    command = [sys.executable, "-m", "penstock", "run", "job.py", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 1
    assert "penstock: [SPARK_BIND] Spark's driver cannot listen on its address" in done.stderr
