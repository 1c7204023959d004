"""LIKE of CREATE TABLE: which parts of the other table are taken."""

from __future__ import annotations

from penstock.table.catalog.definition import TableDraft, draft_of
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.table import CatalogTable
from penstock.table.dialect.statements.create_table import CreateTableLike
from penstock.table.environment.session import Session

_FEATURES = ("CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS")
# What a feature does if the statement says nothing about it.
_DEFAULTS = dict.fromkeys(_FEATURES, "INCLUDING") | {"OPTIONS": "OVERWRITING"}
_OVERWRITTEN = ("GENERATED", "METADATA", "OPTIONS", "WATERMARKS")


def merged(session: Session, statement: CreateTableLike, draft: TableDraft) -> TableDraft:
    """Returns the draft of a new table with what it takes from the other one in front."""
    source = session.catalogs.find(session.catalogs.path(statement.source.parts))
    place = statement.source.line, statement.source.column
    if source is None:
        missing = session.catalogs.missing(session.catalogs.path(statement.source.parts), "table")
        raise refusal("SQL_TABLE", f"LIKE: {getattr(missing, 'text', missing)}", *place)
    if not isinstance(source, CatalogTable):
        raise refusal("SQL_TABLE", f"LIKE takes a table, and '{statement.source}' is a view.", *place)
    strategies = _strategies(statement)
    base = draft_of(source)
    result = TableDraft(comment=draft.comment)
    _merge_columns(base, draft, result, strategies)
    _merge_watermark(base, draft, result, strategies["WATERMARKS"])
    if strategies["CONSTRAINTS"] == "INCLUDING" and base.key is not None:
        if draft.key is not None:
            raise _conflict(
                "The other table has a primary key already", "CONSTRAINTS", draft.key.line, draft.key.column
            )
        result.key = base.key
    else:
        result.key = draft.key
    if strategies["PARTITIONS"] == "INCLUDING" and base.partition_keys:
        if draft.partition_keys:
            raise _conflict("The other table has partitions already", "PARTITIONS", *place)
        result.partition_keys = base.partition_keys
    else:
        result.partition_keys = draft.partition_keys
    if strategies["DISTRIBUTION"] == "INCLUDING" and base.distribution is not None:
        if draft.distribution is not None:
            raise _conflict("The other table has a distribution already", "DISTRIBUTION", *place)
        result.distribution = base.distribution
    else:
        result.distribution = draft.distribution
    result.options = _merged_options(base, draft, strategies["OPTIONS"], place)
    return result


def _strategies(statement: CreateTableLike) -> dict[str, str]:
    found = dict(_DEFAULTS)
    place = statement.source.line, statement.source.column
    seen: set[str] = set()
    for option in statement.like_options:
        if option.feature in seen:
            raise refusal("SQL_LIKE", f"LIKE says twice what happens to {option.feature}.", *place)
        seen.add(option.feature)
        if option.strategy == "OVERWRITING" and option.feature not in _OVERWRITTEN:
            raise refusal(
                "SQL_LIKE",
                f"OVERWRITING {option.feature} is not possible. It is for {', '.join(_OVERWRITTEN)}.",
                *place,
            )
    everything = next((o for o in statement.like_options if o.feature == "ALL"), None)
    if everything is not None:
        # Flink's EXCLUDING ALL keeps the partitions.
        found.update({f: everything.strategy for f in _FEATURES if f not in ("PARTITIONS", "DISTRIBUTION")})
    found.update({o.feature: o.strategy for o in statement.like_options if o.feature != "ALL"})
    return found


def _merge_columns(base: TableDraft, draft: TableDraft, result: TableDraft, strategies: dict[str, str]) -> None:
    features = {"computed": "GENERATED", "metadata": "METADATA"}
    result.columns = [c for c in base.columns if c.kind == "physical" or strategies[features[c.kind]] != "EXCLUDING"]
    for column in draft.columns:
        other = result.find(column.name)
        if other is None:
            result.columns.append(column)
            continue
        feature = features.get(other.kind, "")
        if other.kind != column.kind or not feature:
            raise refusal(
                "SQL_COLUMN", f"A column '{column.name}' exists already in the other table.", column.line, column.column
            )
        if strategies[feature] != "OVERWRITING":
            raise _conflict(
                f"A {column.kind} column '{column.name}' exists already in the other table",
                feature,
                column.line,
                column.column,
                overwriting=True,
            )
        result.columns[result.columns.index(other)] = column


def _merge_watermark(base: TableDraft, draft: TableDraft, result: TableDraft, strategy: str) -> None:
    if base.watermark is None or strategy == "EXCLUDING":
        result.watermark = draft.watermark
        return
    result.watermark = draft.watermark or base.watermark
    if draft.watermark is not None and strategy != "OVERWRITING":
        raise _conflict(
            f"The other table has a watermark for '{'.'.join(base.watermark.path)}' already",
            "WATERMARKS",
            draft.watermark.line,
            draft.watermark.column,
            overwriting=True,
        )


def _merged_options(base: TableDraft, draft: TableDraft, strategy: str, place: tuple[int, int]) -> dict[str, str]:
    if strategy == "EXCLUDING":
        return draft.options
    both = [key for key in draft.options if key in base.options]
    if both and strategy == "INCLUDING":
        raise _conflict(f"The other table has the option '{both[0]}' already", "OPTIONS", *place, overwriting=True)
    return base.options | draft.options


def _conflict(message: str, feature: str, line: int, column: int, overwriting: bool = False) -> Exception:
    other = f" or OVERWRITING {feature}" if overwriting else ""
    return refusal("SQL_LIKE", f"{message}. Write EXCLUDING {feature}{other} behind LIKE.", line, column)
