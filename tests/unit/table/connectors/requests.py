"""Tables for tests of connectors: requests from the text of columns, and loops that read sources and write sinks."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.connectors.sink import WriteTask
from penstock.runtime.relational.changes import Changes
from penstock.table.catalog.table import CatalogTable, TableColumn
from penstock.table.connectors.interface import ScanRequest, SinkRequest, TableSink, TableSource
from penstock.table.connectors.registry import find_connector
from penstock.types.logical.kinds import Field
from penstock.types.logical.text import parse_type
from tests.unit.formats.columns.tables import fields, rows_of

PATH = ("default_catalog", "default_database", "t")


def _table(columns: str, options: dict[str, str], key: Sequence[str], partitions: Sequence[str]) -> CatalogTable:
    physical = tuple(TableColumn(field.name, field.type) for field in fields(columns))
    return CatalogTable(physical, tuple(options.items()), primary_key=tuple(key), partition_keys=tuple(partitions))


def _metadata(metadata: dict[str, str]) -> list[tuple[str, Field]]:
    return [(key, Field(key, parse_type(type_))) for key, type_ in metadata.items()]


def source(
    columns: str,
    options: dict[str, str],
    wanted: Sequence[str] | None = None,
    metadata: dict[str, str] | None = None,
    key: Sequence[str] = (),
    partitions: Sequence[str] = (),
) -> TableSource:
    """Returns the source of a table; `wanted` are the columns that a query reads."""
    table = _table(columns, options, key, partitions)
    read = [f for name in wanted for f in fields(columns) if f.name == name] if wanted is not None else fields(columns)
    request = ScanRequest(table, PATH, options, read, _metadata(metadata or {}))
    return find_connector(options, PATH).source(request)


def sink(
    columns: str,
    options: dict[str, str],
    metadata: dict[str, str] | None = None,
    key: Sequence[str] = (),
    partitions: Sequence[str] = (),
    **request: Any,
) -> TableSink:
    """Returns the sink of a table."""
    names = [field.name for field in fields(columns)]
    table = _table(columns, options, key, partitions)
    return find_connector(options, PATH).sink(
        SinkRequest(
            table,
            PATH,
            options,
            fields(columns),
            _metadata(metadata or {}),
            tuple(names.index(name) for name in key),
            tuple(names.index(name) for name in partitions),
            **request,
        )
    )


def read_all(table: TableSource, folder: Path, batches: int = 100) -> list[tuple[Any, ...]]:
    """Returns the rows of a bounded source, or of some batches. Source and decoder are pickled as on the way to a task."""
    folder.mkdir(parents=True, exist_ok=True)
    table.source.attach(str(folder))
    offset, rows = table.source.initial(), []
    for _ in range(batches):
        end = table.source.latest(offset)
        if end == offset:
            break
        reader, decoder = pickle.loads(pickle.dumps((table.source, table.decoder)))
        for task in table.source.plan(offset, end, 2):
            for chunk in reader.read(task):
                decoded = decoder.decode(chunk.values)
                assert decoded.bad == []
                rows += rows_of(decoded)
        offset = end
    return rows


def write_all(table: TableSink, folder: Path, *batches: Changes) -> None:
    """Writes batches and ends the job."""
    folder.mkdir(parents=True, exist_ok=True)
    table.sink.attach(str(folder))
    for number, changes in enumerate(batches):
        encoder = pickle.loads(pickle.dumps(table.encoder))
        writer = table.sink.writer(WriteTask(number, 0, "0"))
        elements, origins = encoder.encode(changes)
        assert origins is None or len(origins) == len(elements)
        writer.write(elements, None, None)
        table.sink.commit(number, [part for part in [writer.prepare()] if part is not None])
    table.sink.finish()


def files_in(folder: Path) -> dict[str, str]:
    """Returns the visible files below a folder: the folder of each, and the texts in it, joined."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            name = str(path.parent.relative_to(folder))
            found[name] = found.get(name, "") + path.read_text()
    return found
