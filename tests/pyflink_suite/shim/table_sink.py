"""Replaces pyflink/testing/source_sink_utils.py: the connector 'test-sink' of PyFlink's table tests, and its results."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from penstock.connectors import JsonLinesSink
from penstock.table.connectors import registry
from penstock.table.connectors.interface import ScanRequest, SinkRequest, TableSink, TableSource
from penstock.table.connectors.print import PrintConnector, PrintEncoder

FOLDER = Path(os.environ["PYFLINK_SUITE_SINKS"]) / "table"


class CollectingConnector(PrintConnector):
    """Writes the text of each row to a file, as Java's sink keeps it in a list."""

    name = "test-sink"

    def source(self, request: ScanRequest) -> TableSource:
        raise AssertionError("a sink")

    def sink(self, request: SinkRequest) -> TableSink:
        fields = [*request.columns, *(field for _, field in request.metadata)]
        return TableSink(JsonLinesSink(FOLDER / uuid.uuid4().hex), PrintEncoder(fields), "retract")


def install() -> None:
    """Makes the connector known."""
    registry._CONNECTORS["test-sink"] = CollectingConnector()
    registry._OPTIONS["test-sink"] = ()


def retract_results() -> list[str]:
    """Returns the rows that are left when all changes are applied, and forgets them."""
    import json

    rows: Counter[str] = Counter()
    for file in sorted(FOLDER.rglob("part-*.jsonl")):
        for line in file.read_text().splitlines():
            text = json.loads(line)
            kind, row = text[:2], "+I" + text[2:]
            rows[row] += 1 if kind in ("+I", "+U") else -1
        file.unlink()
    return list(rows.elements())


def results() -> list[str]:
    """The same: an append-only sink has only insertions."""
    return retract_results()


def upsert_results(keys: list[int]) -> Any:
    raise AssertionError(f"not used by PyFlink's tests: {keys}")
