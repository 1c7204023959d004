"""The connector 'blackhole': discards all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.connectors.basic_sinks import DiscardingSink
from penstock.errors import UnsupportedOperation
from penstock.runtime.relational.changes import Changes
from penstock.table.connectors.interface import ScanRequest, SinkRequest, TableSink, TableSource
from penstock.table.connectors.options import COMMON_SINK_OPTIONS, Option, OptionValues, owner


class NoElements:
    """Encodes every row as nothing, but counts it."""

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one None per row."""
        return [None] * changes.length, None


BLACKHOLE_OPTIONS = (*COMMON_SINK_OPTIONS, Option("property-version"))


class BlackholeConnector:
    """Accepts all changes and writes none of them."""

    name = "blackhole"

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns nothing, because the table cannot be read."""
        return {}

    def source(self, request: ScanRequest) -> TableSource:
        """Refuses to read."""
        raise not_readable(self.name, request)

    def sink(self, request: SinkRequest) -> TableSink:
        """Returns a sink that discards everything."""
        OptionValues(owner(request.path), self.name, request.options, BLACKHOLE_OPTIONS)
        return TableSink(DiscardingSink(), NoElements(), "retract")


def not_readable(name: str, request: ScanRequest) -> UnsupportedOperation:
    """Returns the error for reading a table whose connector only writes."""
    return UnsupportedOperation(
        "TABLE_NOT_READABLE",
        f"{owner(request.path)}: Connector '{name}' can only be used as a sink. It cannot be used as a source.",
    )


def not_writable(name: str, request: SinkRequest) -> UnsupportedOperation:
    """Returns the error for writing to a table whose connector only reads."""
    return UnsupportedOperation(
        "TABLE_NOT_WRITABLE",
        f"{owner(request.path)}: Connector '{name}' can only be used as a source. It cannot be used as a sink.",
    )
