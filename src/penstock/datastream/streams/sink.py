"""The `DataStreamSink`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.datastream.streams.operator_settings import OperatorSettings
from penstock.functions import OutputTag

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream, R


class DataStreamSink(OperatorSettings):
    """A sink of a stream, with the settings of its operator."""

    def get_side_output(self, output_tag: OutputTag[R]) -> DataStream[R]:
        """Returns the elements for which the sink function raised an error, with the tag DEAD_LETTERS."""
        from penstock.datastream.streams.data_stream import DataStream

        return DataStream(self._env, self._node).get_side_output(output_tag)
