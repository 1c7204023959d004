"""What a statement answers: columns with their types, and rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.datastream.jobs.job_client import JobClient
from penstock.types.logical.kinds import BIGINT, STRING, Field, LogicalType, RowType


@dataclass
class Answer:
    """The answer of a statement.

    rows: an iterable of `Row` for a query, whose rows come while it runs; else a list of lists.
    style: how `print` shows it: "table", "text" (one text as it is, as EXPLAIN), or "ok".
    streaming: the rows are a changelog, so that `print` shows their kinds.
    """

    row_type: RowType
    rows: Iterable[Any] = ()
    style: Literal["table", "text", "ok"] = "table"
    is_query: bool = False
    streaming: bool = False
    job_client: JobClient | None = None
    notes: dict[str, Any] = field(default_factory=dict)


def table_answer(columns: Sequence[tuple[str, LogicalType]], rows: Iterable[Sequence[Any]]) -> Answer:
    """Returns an answer with rows that are known."""
    row_type = RowType(tuple(Field(name, type_) for name, type_ in columns), nullable=False)
    return Answer(row_type, [list(row) for row in rows])


def names_answer(column: str, names: Iterable[str]) -> Answer:
    """Returns an answer with one column of names."""
    return table_answer([(column, STRING)], [[name] for name in names])


def text_answer(text: str, style: Literal["table", "text"] = "table") -> Answer:
    """Returns an answer that is one text."""
    answer = table_answer([("result", STRING)], [[text]])
    answer.style = style
    return answer


def ok() -> Answer:
    """Returns the answer of a statement that succeeded and has no rows."""
    answer = table_answer([("result", STRING)], [["OK"]])
    answer.style = "ok"
    return answer


def job_answer(paths: Sequence[Sequence[str]], client: JobClient) -> Answer:
    """Returns the answer of INSERT: -1 affected rows per table, because a running job does not know them."""
    names = [".".join(path) for path in paths]
    answer = table_answer([(name, BIGINT) for name in names], [[-1] * len(names)])
    answer.job_client = client
    return answer
