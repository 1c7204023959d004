"""`order_by`, `offset` and `fetch`, which make one sort together."""

from __future__ import annotations

import msgspec

from penstock.errors import SqlValidationError
from penstock.runtime.relational.expressions.tree import Column
from penstock.table.relations import Calc, Relation, Sort


def with_offset(relation: Relation, offset: int) -> Relation:
    """Returns a relation without its first rows."""
    _check_count(offset, "offset")
    sort = _sort(relation)
    if sort is not None and sort.limit is None and not sort.offset:
        return _with_sort(relation, msgspec.structs.replace(sort, offset=offset))
    if sort is relation:
        word = "OFFSET" if sort.limit is None else "FETCH"
        raise SqlValidationError("SQL_ORDER", f"{word} is already defined. Call offset() once, before fetch().")
    return Sort(row_type=relation.row_type, input=relation, offset=offset)


def with_fetch(relation: Relation, fetch: int) -> Relation:
    """Returns the first rows of a relation."""
    _check_count(fetch, "fetch")
    sort = _sort(relation)
    if sort is not None and sort.limit is None:
        return _with_sort(relation, msgspec.structs.replace(sort, limit=fetch))
    if sort is relation:
        raise SqlValidationError("SQL_ORDER", "FETCH is already defined. Call fetch() or limit() once.")
    return Sort(row_type=relation.row_type, input=relation, limit=fetch)


def without_fetch(relation: Relation) -> Relation:
    """Returns a sort without its limit."""
    sort = _sort(relation)
    assert sort is not None
    return _with_sort(relation, msgspec.structs.replace(sort, limit=None))


def _sort(relation: Relation) -> Sort | None:
    """The sort that a relation is, possibly below a choice of columns, which leaves the order as it is."""
    if isinstance(relation, Calc) and isinstance(relation.input, Sort) and relation.condition is None:
        return relation.input if all(isinstance(p, Column) for p in relation.projections) else None
    return relation if isinstance(relation, Sort) else None


def _with_sort(relation: Relation, sort: Sort) -> Relation:
    return sort if isinstance(relation, Sort) else msgspec.structs.replace(relation, input=sort)


def _check_count(number: object, name: str) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise SqlValidationError("SQL_ORDER", f"{name}() takes a number of rows from 0 on, not {number!r}.")
