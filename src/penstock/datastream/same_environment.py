"""Streams that are put together, checked to be of one job."""

from __future__ import annotations

from penstock.datastream.operator_settings import OperatorSettings
from penstock.errors import PlanError


def check_same_environment(method: str, first: OperatorSettings, second: OperatorSettings) -> None:
    """Refuses a stream of another environment."""
    if first._env is not second._env:
        raise PlanError(
            "TWO_ENVIRONMENTS",
            f"{method}() got a stream of another environment. Streams of one job come from one StreamExecutionEnvironment.",
        )
