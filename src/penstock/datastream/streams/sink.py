"""The end of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.datastream.operator_settings import OperatorSettings
from penstock.functions import OutputTag

if TYPE_CHECKING:
    from penstock.datastream.data_stream import DataStream, R


class DataStreamSink(OperatorSettings):
    """The end of a stream: it can be named and described."""

    def get_side_output(self, output_tag: OutputTag[R]) -> DataStream[R]:
        """The elements on which a sink's function raised, by the tag DEAD_LETTERS."""
        from penstock.datastream.data_stream import DataStream

        return DataStream(self._env, self._node).get_side_output(output_tag)
