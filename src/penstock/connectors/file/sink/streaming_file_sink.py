"""`StreamingFileSink` of PyFlink, which is deprecated there."""

from __future__ import annotations

import os
import warnings
from typing import Any

from penstock.connectors.encoder import Encoder
from penstock.connectors.file.sink.sink_builder import BulkFormatBuilder, RowFormatBuilder


class StreamingFileSink:
    """Builds a `FileSink`. As in PyFlink, it is deprecated and has the same settings.

    Part files become visible when they are complete, without a checkpoint interval too.
    """

    @staticmethod
    def for_row_format(base_path: str | os.PathLike[str], encoder: Encoder) -> RowFormatBuilder:
        """Returns a builder for an encoder that writes elements one by one."""
        _warn()
        return RowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str | os.PathLike[str], writer_factory: Any) -> BulkFormatBuilder:
        """Returns a builder for a bulk format, such as Parquet."""
        _warn()
        return BulkFormatBuilder(base_path, writer_factory)


def _warn() -> None:
    warnings.warn("StreamingFileSink is deprecated, as in Flink. Use FileSink.", DeprecationWarning, stacklevel=3)
