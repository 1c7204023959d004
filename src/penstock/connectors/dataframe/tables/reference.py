"""Names a table of Spark, and what is read of it. The DataFrame is created in the session of the job, when the job starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.types.logical.spark import quoted_name, quoted_text


@dataclass(frozen=True)
class TableReference:
    """A table as Spark's SQL writes its name, the columns that are read, and the version of the table.

    texts: columns whose values Spark must turn into JSON texts, because Parquet readers do not know their type.

    >>> TableReference("`lake`.`db`.`t`", ("id",), version="3").query()
    'SELECT `id` FROM `lake`.`db`.`t` VERSION AS OF 3'
    """

    name: str
    columns: tuple[str, ...]
    version: str | None = None
    timestamp: str | None = None  # in the time zone of the session
    options: Mapping[str, str] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()

    def query(self) -> str:
        """Returns the query that reads the table once."""
        return f"SELECT {', '.join(self._expressions())} FROM {self.name}{self._moment()}"

    def frame(self, session: Any) -> Any:
        """Returns the rows of the table as they are now, or as they were in a version."""
        if not self.options:
            return session.sql(self.query())
        reader: Any = session.read.options(**self.options)
        if self.version is not None:
            reader = reader.option("versionAsOf", self.version)
        if self.timestamp is not None:
            reader = reader.option("timestampAsOf", self.timestamp)
        return reader.table(self.name).selectExpr(*self._expressions())

    def stream(self, session: Any) -> Any:
        """Returns the rows of the table, and those that are added to it."""
        frame = (
            session.table(self.name) if self._is_view() else session.readStream.options(**self.options).table(self.name)
        )
        return frame.selectExpr(*self._expressions())

    def _is_view(self) -> bool:
        return self.name.startswith(GLOBAL_VIEWS)

    def _expressions(self) -> list[str]:
        names = [quoted_name(name) for name in self.columns]
        return [f"to_json({q}) AS {q}" if n in self.texts else q for n, q in zip(self.columns, names, strict=True)]

    def _moment(self) -> str:
        if self.version is not None:
            number = self.version if self.version.isdigit() else quoted_text(self.version)
            return f" VERSION AS OF {number}"
        return "" if self.timestamp is None else f" TIMESTAMP AS OF {quoted_text(self.timestamp)}"


GLOBAL_VIEWS = "`global_temp`."  # the views of DataFrames, which all sessions of a program share
