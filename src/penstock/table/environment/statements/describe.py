"""DESCRIBE and SHOW COLUMNS."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.redaction import HIDDEN, is_secret
from penstock.table.catalog.errors import did_you_mean, refusal
from penstock.table.catalog.manager import Path
from penstock.table.catalog.table import CatalogView, TableColumn
from penstock.table.dialect.statements.show import Describe, Show
from penstock.table.environment.answer import Answer, table_answer
from penstock.table.environment.session import Session
from penstock.table.environment.statements.like_filter import accepts
from penstock.table.functions.catalogue import find_function, function_names, is_aggregate
from penstock.types.logical.kinds import BOOLEAN, STRING, LogicalType, TimestampType
from penstock.types.logical.text import bare, summary

_COLUMNS: list[tuple[str, LogicalType]] = [
    ("name", STRING),
    ("type", STRING),
    ("null", BOOLEAN),
    ("key", STRING),
    ("extras", STRING),
    ("watermark", STRING),
]


def describe(session: Session, statement: Describe, text: str) -> Answer:
    """Runs DESCRIBE."""
    parts = statement.name.parts
    match statement.object_type:
        case "CATALOG":
            return _catalog(session, parts[0], statement.extended)
        case "DATABASE":
            return _database(session, parts, statement.extended)
        case "FUNCTION":
            return _function(session, parts, statement.extended)
        case "JOB":
            return session.describe_job(parts[0])
        case _:
            return describe_table(session, session.catalogs.path(parts))


def show_columns(session: Session, statement: Show, text: str) -> Answer:
    """Runs SHOW COLUMNS."""
    assert statement.source is not None
    answer = describe_table(session, session.catalogs.path(statement.source.parts))
    answer.rows = [row for row in answer.rows if accepts(statement.like, row[0])]
    return answer


def describe_table(session: Session, path: Path) -> Answer:
    """Returns the columns of a table or view."""
    found = session.catalogs.get(path)
    if isinstance(found, CatalogView):
        columns: Sequence[TableColumn] = [TableColumn(f.name, f.type) for f in session.view_type(path, found).fields]
        return _described(columns, {}, (), False)
    watermarks = {found.watermark.column: found.watermark.text} if found.watermark is not None else {}
    return _described(found.columns, watermarks, found.primary_key, any(c.comment for c in found.columns))


def _described(
    columns: Sequence[TableColumn], watermarks: dict[int, str], key: tuple[str, ...], commented: bool
) -> Answer:
    rows = []
    for position, column in enumerate(columns):
        row = [
            column.name,
            type_summary(column.type),
            column.type.nullable,
            f"PRI({', '.join(key)})" if column.name in key else None,
            extras(column),
            watermarks.get(position),
        ]
        rows.append([*row, column.comment] if commented else row)
    return table_answer([*_COLUMNS, ("comment", STRING)] if commented else _COLUMNS, rows)


def type_summary(type_: LogicalType) -> str:
    """Returns the text of a column's type without NOT NULL, with its time attribute.

    >>> type_summary(TimestampType(3, attribute="ROWTIME", nullable=False))
    'TIMESTAMP(3) *ROWTIME*'
    """
    attribute = type_.attribute if isinstance(type_, TimestampType) else ""
    return bare(type_) + (f" *{attribute}*" if attribute else "")


def extras(column: TableColumn) -> str | None:
    """Returns the part of a column's declaration behind its type."""
    if column.kind == "computed":
        return f"AS {column.text}"
    if column.kind == "metadata":
        key = f" FROM '{column.key}'" if column.key is not None else ""
        return f"METADATA{key}{' VIRTUAL' if column.virtual else ''}"
    return None


_INFO: list[tuple[str, LogicalType]] = [("info name", STRING), ("info value", STRING)]


def _catalog(session: Session, name: str, extended: bool) -> Answer:
    entry = session.catalogs.entry(name)
    rows: list[tuple[str, str | None]] = [
        ("name", name),
        ("type", entry.options.get("type", "generic_in_memory")),
        ("comment", entry.comment),
    ]
    if extended:
        shown = {key: HIDDEN if is_secret(key) else value for key, value in sorted(entry.options.items())}
        rows += [(f"option:{key}", value) for key, value in shown.items() if key != "type"]
    return table_answer(_INFO, rows)


def _database(session: Session, parts: Sequence[str], extended: bool) -> Answer:
    path = session.catalogs.database_path(parts)
    database = session.catalogs.database(path)
    rows: list[tuple[str, str | None]] = [("catalog", path[0]), ("name", path[1]), ("comment", database.comment)]
    if extended:
        rows += [(f"option:{k}", v) for k, v in sorted(database.options)]
    return table_answer(_INFO, rows)


def _facts(session: Session, parts: Sequence[str]) -> list[tuple[str, str]]:
    """What EXTENDED shows of a function of the user."""
    function = session.functions.resolve(parts, before_built_in=True)
    wanted = ", ".join(f"arg{i} => {summary(type_)}" for i, type_ in enumerate(function.input_types or ()))
    return [
        ("kind", function.kind.upper().replace(" ", "_")),
        ("requirements", "[]"),
        ("is deterministic", str(function.deterministic).lower()),
        ("supports constant folding", "false"),  # it is called for each row
        ("signature", f"{parts[-1]}({'*' if function.input_types is None else wanted})"),
    ]


def _function(session: Session, parts: Sequence[str], extended: bool) -> Answer:
    name = parts[-1]
    found = session.functions.find(parts)
    if found is not None:
        function, temporary, system = found
        rows = [
            ("is system function", str(system).lower()),
            ("is temporary", str(temporary).lower()),
        ]
        if not system:
            rows += [("class name", function.implementation), ("function language", function.language)]
        if extended:
            rows += _facts(session, parts)
        return table_answer(_INFO, rows)
    if len(parts) == 1 and (find_function(name) is not None or is_aggregate(name)):
        rows = [("is system function", "true"), ("is temporary", "false")]
        if extended:
            rows.append(("kind", "AGGREGATE" if is_aggregate(name) else "SCALAR"))
        return table_answer(_INFO, rows)
    near = did_you_mean(name, [*session.functions.names(), *function_names()])
    raise refusal("SQL_FUNCTION", f"There is no function '{'.'.join(parts)}'.{near}")
