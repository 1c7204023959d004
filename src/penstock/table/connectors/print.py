"""The connector 'print': writes rows to the standard output, as Flink prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.connectors.basic_sinks import PrintSink
from penstock.formats.columns.java_print import printed_column
from penstock.runtime.relational.changes import Changes
from penstock.table.connectors.blackhole import not_readable
from penstock.table.connectors.interface import ScanRequest, SinkRequest, TableSink, TableSource
from penstock.table.connectors.options import COMMON_SINK_OPTIONS, Option, OptionValues, owner
from penstock.types.logical.kinds import Field

PRINT_OPTIONS = (Option("print-identifier"), Option("standard-error", "boolean", False), *COMMON_SINK_OPTIONS)
KIND_TEXTS = np.array(["+I[", "-U[", "+U[", "-D["])


class PrintEncoder:
    """Encodes rows as lines such as +I[1, a].

    >>> import pyarrow as pa
    >>> from penstock.types.logical.kinds import INT, STRING
    >>> rows = Changes([pa.array([1, None], pa.int32()), pa.array(["a", "b"])], 2, np.array([0, 3], np.int8))
    >>> PrintEncoder([Field("n", INT), Field("s", STRING)]).encode(rows)[0]
    ['+I[1, a]', '-D[null, b]']
    """

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one line per row."""
        texts = [printed_column(column, field.type) for column, field in zip(changes.columns, self.fields, strict=True)]
        kinds = KIND_TEXTS[changes.all_kinds()].tolist()
        rows = zip(*texts, strict=True) if texts else [()] * changes.length
        return [f"{kind}{', '.join(row)}]" for kind, row in zip(kinds, rows, strict=True)], None


class PrintConnector:
    """Prints changes of all kinds."""

    name = "print"

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns nothing, because the table cannot be read."""
        return {}

    def source(self, request: ScanRequest) -> TableSource:
        """Refuses to read."""
        raise not_readable(self.name, request)

    def sink(self, request: SinkRequest) -> TableSink:
        """Returns a sink that prints lines."""
        values = OptionValues(owner(request.path), self.name, request.options, PRINT_OPTIONS)
        identifier = values["print-identifier"]
        fields = [*request.columns, *(field for _, field in request.metadata)]
        sink = PrintSink(f"{identifier}> " if identifier else "", to_stderr=values["standard-error"])
        return TableSink(sink, PrintEncoder(fields), "retract")
