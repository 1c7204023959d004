"""The same Spark session as the other tests have."""

from __future__ import annotations

from tests.spark.conftest import spark as spark
