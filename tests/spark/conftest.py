"""One Spark session for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.spark.session import get_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = get_session(ps.Configuration({"spark.master": "local[2]", "spark.driver.memory": "3g"}))
    yield session
    session.stop()
