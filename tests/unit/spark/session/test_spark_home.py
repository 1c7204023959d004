"""The linked Spark home: workers load the installed pyspark instead of Spark's zip file."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.spark.session.spark_home import linked_spark_home


def test_the_linked_home_is_the_installed_one_without_the_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with linked_spark_home():
        home = Path(os.environ["SPARK_HOME"])
        assert (home / "jars").resolve() == Path(pyspark.__file__).resolve().parent / "jars"
        assert (home / "bin" / "spark-submit").exists()
        assert not (home / "python").exists()
    assert "SPARK_HOME" not in os.environ
    with linked_spark_home():
        assert os.environ["SPARK_HOME"] == str(home)


def test_a_home_that_is_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with linked_spark_home():
        assert os.environ["SPARK_HOME"] == "/opt/spark"
    assert os.environ["SPARK_HOME"] == "/opt/spark"


def test_without_a_writable_cache_the_installed_home_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with linked_spark_home():
        assert "SPARK_HOME" not in os.environ


@pytest.mark.spark
def test_workers_load_the_installed_pyspark_and_use_the_penstock_daemon(spark: SparkSession) -> None:
    def where(_: int) -> tuple[str, bool]:
        import sys

        return sys.modules["pyspark"].__file__ or "", "penstock.spark.query.processor" in sys.modules

    env = ps.StreamExecutionEnvironment()
    found = list(env.from_collection([1]).map(where).execute_and_collect())
    assert found == [(pyspark.__file__, True)]
