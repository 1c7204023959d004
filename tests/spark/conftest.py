"""One Spark session for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.spark.session import get_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    settings = {"spark.master": "local[2]", "spark.driver.memory": "3g"}
    # Tests are short jobs: they end before the JVM's second compiler pays.
    settings["spark.jvm-options"] = "-XX:TieredStopAtLevel=1"
    session = get_session(ps.Configuration(settings))
    yield session
    session.stop()
