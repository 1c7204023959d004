"""Wrappers of Java classes of Flink, which are not supported."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.errors import UnsupportedOperation


class SourceFunction:
    """Not supported. In PyFlink it wraps a Java source."""

    def __init__(self, source_func: Any) -> NoReturn:
        raise _java_error("A SourceFunction", "Write a Source and use from_source")


class SinkFunction:
    """Not supported. In PyFlink it wraps a Java sink."""

    def __init__(self, sink_func: Any) -> NoReturn:
        raise _java_error("A SinkFunction", "Write a Sink and use sink_to, or pass a Python function to add_sink")


def _java_error(found: str, instead: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        "JAVA_FUNCTION", f"{found} wraps a Java class of Flink, which is not available here. {instead}."
    )
