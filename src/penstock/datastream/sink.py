"""The end of a stream."""

from __future__ import annotations

from penstock.datastream.operator_settings import OperatorSettings


class DataStreamSink(OperatorSettings):
    """The end of a stream: it can be named and described."""
