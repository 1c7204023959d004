"""A catalog that keeps its tables as JSON files in a folder, so that they survive the session.

    folder/database/database.json           comment and options
    folder/database/tables/name.json        a table or view
    folder/database/functions/name.json     a function

    folder/.lock                            held while a session changes something that it has read

Files are written whole. They are read when a table is used, so that sessions that share a folder see each other's tables. A file
that cannot be read spoils only its own table: the error names the file, and DROP TABLE removes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from penstock.atomic_file import remove_file, write_atomic
from penstock.table.catalog.catalog import CatalogDatabase, Partition
from penstock.table.catalog.errors import DAMAGED, refusal
from penstock.table.catalog.function import CatalogFunction
from penstock.table.catalog.stored import read_table, write_table
from penstock.table.catalog.table import CatalogTable, CatalogView

_END = ".json"


class FileCatalog:
    """The catalog of type 'file'.

    >>> import tempfile
    >>> FileCatalog(tempfile.mkdtemp(), "main").databases()
    ['main']
    """

    def __init__(self, path: str | os.PathLike[str], default_database: str = "default") -> None:
        text = os.fspath(path)
        if "://" in text and not text.startswith("file://"):
            raise refusal("SQL_CATALOG", f"A catalog of type 'file' needs a folder of this machine, not '{text}'.")
        self._folder = Path(text.removeprefix("file://"))
        self.default_database = default_database
        if self.database(default_database) is None:
            self.put_database(default_database, CatalogDatabase())

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        file = self._folder / ".lock"
        with _writing(file):
            lock = os.open(file, os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)  # which also ends the lock

    # -- databases

    def databases(self) -> list[str]:
        try:
            entries = [e.name for e in os.scandir(self._folder) if e.is_dir() and not e.name.startswith(".")]
        except FileNotFoundError:
            return []
        return sorted(unquote(name) for name in entries)

    def database(self, name: str) -> CatalogDatabase | None:
        folder = self._database_folder(name)
        if not folder.is_dir():
            return None
        found = _read(folder / "database.json")
        if found is None:
            return CatalogDatabase()
        options = found.get("options")
        return CatalogDatabase(
            _text_or_none(found.get("comment")),
            tuple((str(k), str(v)) for k, v in options.items()) if isinstance(options, dict) else (),
        )

    def put_database(self, name: str, database: CatalogDatabase) -> None:
        folder = self._database_folder(name)
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "database.json", {"comment": database.comment, "options": dict(database.options)})

    def drop_database(self, name: str) -> None:
        shutil.rmtree(self._database_folder(name), ignore_errors=True)

    def _database_folder(self, name: str) -> Path:
        return self._folder / _file_name(name)

    # -- tables

    def _file(self, database: str, kind: str, name: str) -> Path:
        return self._database_folder(database) / kind / (_file_name(name) + _END)

    def _names(self, database: str, kind: str) -> list[str]:
        try:
            files = os.listdir(self._database_folder(database) / kind)
        except FileNotFoundError:
            return []
        return sorted(unquote(f.removesuffix(_END)) for f in files if f.endswith(_END) and not f.startswith("."))

    def tables(self, database: str) -> list[str]:
        return self._names(database, "tables")

    def table(self, database: str, name: str) -> CatalogTable | CatalogView | None:
        file = self._file(database, "tables", name)
        found = _read(file)
        if found is None:
            return None
        try:
            return read_table(found)
        except Exception as error:
            raise _damaged(file, error) from error

    def put_table(self, database: str, name: str, table: CatalogTable | CatalogView) -> None:
        if isinstance(table, CatalogView) and table.relation is not None:
            raise refusal(
                "SQL_TABLE", "A view of a Table of the program cannot be stored. Create it as a temporary view."
            )
        file = self._file(database, "tables", name)
        stored = write_table(table)
        partitions = self.partitions(database, name)
        if partitions:
            stored["partitions"] = [dict(p) for p in partitions]
        _write(file, stored)

    def drop_table(self, database: str, name: str) -> None:
        remove_file(self._file(database, "tables", name))

    def result_folder(self, database: str, name: str) -> str:
        """Returns the folder for what a materialized table consists of besides its definition. It need not exist."""
        return str((self._database_folder(database) / "materialized" / _file_name(name)).absolute())

    def rename_table(self, database: str, name: str, new_name: str) -> None:
        os.replace(self._file(database, "tables", name), self._file(database, "tables", new_name))

    def partitions(self, database: str, table: str) -> list[Partition]:
        file = self._file(database, "tables", table)
        try:
            found = (_read(file) or {}).get("partitions") or []
            return [tuple((str(k), str(v)) for k, v in p.items()) for p in found]
        except Exception as error:
            raise _damaged(file, error) from error

    def put_partitions(self, database: str, table: str, partitions: Sequence[Partition]) -> None:
        file = self._file(database, "tables", table)
        _write(file, (_read(file) or {}) | {"partitions": [dict(p) for p in partitions]})

    # -- functions

    def functions(self, database: str) -> list[str]:
        return self._names(database, "functions")

    def function(self, database: str, name: str) -> CatalogFunction | None:
        file = self._file(database, "functions", name)
        found = _read(file)
        if found is None:
            return None
        if not isinstance(found.get("implementation"), str):
            raise _damaged(file, "it has no 'implementation'")
        options = found.get("options")
        return CatalogFunction(
            found["implementation"],
            str(found.get("language") or "PYTHON"),
            tuple((str(k), str(v)) for k, v in options.items()) if isinstance(options, dict) else (),
        )

    def put_function(self, database: str, name: str, function: CatalogFunction) -> None:
        stored = {
            "implementation": function.implementation,
            "language": function.language,
            "options": dict(function.options),
        }
        _write(self._file(database, "functions", name), stored)

    def drop_function(self, database: str, name: str) -> None:
        remove_file(self._file(database, "functions", name))


def _file_name(name: str) -> str:
    """Names may have characters that files must not have, and must not be hidden files or '..'."""
    return quote(name, safe=" ").replace(".", "%2E")


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def _read(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _damaged(file, error) from error
    if not isinstance(found, dict):
        raise _damaged(file, "it is not a JSON object")
    return found


def _write(file: Path, content: Mapping[str, Any]) -> None:
    with _writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, json.dumps(content, indent=1, ensure_ascii=False).encode(), durable=True)


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise refusal(
            DAMAGED,
            f"The file '{file}' of the catalog cannot be written: {error.strerror or error}. Is its folder writable?",
        ) from error


def _damaged(file: Path, reason: object) -> Exception:
    if isinstance(reason, KeyError):
        reason = f"it has no {reason}"
    return refusal(
        DAMAGED,
        f"The file '{file}' of the catalog cannot be read: {reason}. Repair it, or drop its table and create it again.",
    )
