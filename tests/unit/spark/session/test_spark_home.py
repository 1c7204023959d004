"""Workers that start fast: from the installed pyspark, not from Spark's zip of it."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.spark.home import fast_home


def test_the_fast_home_is_the_installed_one_without_the_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with fast_home():
        home = Path(os.environ["SPARK_HOME"])
        assert (home / "jars").resolve() == Path(pyspark.__file__).resolve().parent / "jars"
        assert (home / "bin" / "spark-submit").exists()
        assert not (home / "python").exists()
    assert "SPARK_HOME" not in os.environ
    with fast_home():
        assert os.environ["SPARK_HOME"] == str(home)


def test_a_home_that_somebody_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with fast_home():
        assert os.environ["SPARK_HOME"] == "/opt/spark"
    assert os.environ["SPARK_HOME"] == "/opt/spark"


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with fast_home():
        assert "SPARK_HOME" not in os.environ


@pytest.mark.spark
def test_workers_load_the_installed_pyspark_and_come_from_our_daemon(spark: SparkSession) -> None:
    def where(_: int) -> tuple[str, bool]:
        import sys

        return sys.modules["pyspark"].__file__ or "", "penstock.spark.processor" in sys.modules

    env = ps.StreamExecutionEnvironment()
    found = list(env.from_collection([1]).map(where).execute_and_collect())
    assert found == [(pyspark.__file__, True)]
