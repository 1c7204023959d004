"""Appends a batch to a table of files, so that a batch that is repeated after a failure is there once.

Spark's own writers give files new names each time. Here the files are first written aside, complete, and then moved into the
table one by one. A repeated batch finds the files aside, and moves those that are left:

    table/_penstock/writer/batch-7/...      the files of batch 7, complete when _SUCCESS is there; readers ignore the folder
    checkpoint/.../appended                 the last batch whose files are all in the table
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.atomic_file import write_atomic
from penstock.connectors.dataframe.tables.described import TableDescription
from penstock.connectors.dataframe.tables.sink import TableWrite
from penstock.errors import JobError

_ASIDE = "_penstock"
_DONE = "appended"


def append_files(
    session: Any, frame: Any, write: TableWrite, table: TableDescription, folder: Path, batch: int, writer: str
) -> None:
    """Appends the rows of a batch. `folder` is that of the sink in the checkpoint, `writer` names the checkpoint."""
    done = folder / _DONE
    if done.exists() and int(done.read_text()) >= batch:
        return
    assert table.location is not None
    files = _FileSystem(session, table.location)
    staged = files.path(table.location, _ASIDE, writer, f"batch-{batch}")
    if not files.exists(files.path(staged, "_SUCCESS")):
        written: Any = frame.write.format(table.provider).options(**_options(session, write, table))
        if table.partition_columns:
            written = written.partitionBy(*table.partition_columns)
        written.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "true").mode("overwrite").save(str(staged))
    for file in files.data_files(staged):
        files.move(file, staged, table.location)
    if table.partition_columns:
        session.sql(f"MSCK REPAIR TABLE {write.name}")  # makes new partitions known
    session.catalog.refreshTable(write.name)
    write_atomic(done, str(batch).encode(), durable=True)
    files.remove(staged)


def _options(session: Any, write: TableWrite, table: TableDescription) -> dict[str, str]:
    """The options of the table, such as the header of CSV files, which Spark stores with a prefix."""
    prefix = "option."
    stored = {k.removeprefix(prefix): v for k, v in table.properties.items() if k.startswith(prefix)}
    return {**stored, **write.options}


class _FileSystem:
    """Hadoop's file system of a table, in the JVM of Spark."""

    def __init__(self, session: Any, location: str) -> None:
        self._path: Any = session.sparkContext._gateway.jvm.org.apache.hadoop.fs.Path
        configuration = session._jsparkSession.sessionState().newHadoopConf()
        self._files = self._path(location).getFileSystem(configuration)

    def path(self, first: Any, *parts: str) -> Any:
        found = self._path(first) if isinstance(first, str) else first
        for part in parts:
            found = self._path(found, part)
        return found

    def exists(self, path: Any) -> bool:
        return bool(self._files.exists(path))

    def data_files(self, folder: Any) -> list[Any]:
        """Returns the files of a folder and its partitions."""
        iterator, found = self._files.listFiles(folder, True), []
        while iterator.hasNext():
            file = iterator.next().getPath()
            if not str(file.getName()).startswith(("_", ".")):
                found.append(file)
        return sorted(found, key=str)

    def move(self, file: Any, staged: Any, location: str) -> None:
        root = str(self._files.makeQualified(staged).toString()).rstrip("/") + "/"
        target = self.path(location, str(file.toString()).removeprefix(root))
        self._files.mkdirs(target.getParent())
        if self.exists(target):  # a store that copies files was interrupted
            self._files.delete(target, False)
        if not self._files.rename(file, target):
            raise JobError("SPARK_TABLE_WRITE", f"The file {file} cannot be moved to {target}. Is the table writable?")

    def remove(self, path: Any) -> None:
        self._files.delete(path, True)
