"""Functions that are classes of Flink's Java library."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.errors import UnsupportedOperation


class SourceFunction:
    """Not supported: a Java class of Flink's that pushes records."""

    def __init__(self, source_func: Any) -> NoReturn:
        raise _java("A SourceFunction", "Write a Source and use from_source")


class SinkFunction:
    """Not supported: a Java class of Flink's that takes records."""

    def __init__(self, sink_func: Any) -> NoReturn:
        raise _java("A SinkFunction", "Write a Sink and use sink_to, or give add_sink a Python function")


def _java(found: str, instead: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        "JAVA_FUNCTION", f"{found} wraps a Java class of Flink's, and no Flink runs here. {instead}."
    )
