"""An expression of the Table API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from sqlglot import exp

from penstock.table.data_types import DataType
from penstock.table.dialect import nodes
from penstock.table.expressions.aggregations import Aggregations
from penstock.table.expressions.base import call_text
from penstock.table.expressions.bitmaps import Bitmaps
from penstock.table.expressions.collections import Collections
from penstock.table.expressions.hashes import Hashes
from penstock.table.expressions.json_methods import JsonMethods
from penstock.table.expressions.numbers import Numbers
from penstock.table.expressions.operators import Operators
from penstock.table.expressions.patterns import Patterns
from penstock.table.expressions.texts import Texts
from penstock.table.expressions.times import Times
from penstock.table.expressions.types import logical_of, type_reference

T = TypeVar("T")


class Expression(
    Operators,
    Numbers,
    Texts,
    Patterns,
    Times,
    Collections,
    Hashes,
    JsonMethods,
    Bitmaps,
    Aggregations,
    Generic[T],
):
    """A part of a query: a column, a constant or a call of a function. Create them with `col` and `lit`.

    `node` is what the parser makes of the same SQL, so that both mean the same. The attributes of an expression are its
    methods and properties; another name is the field of a row.

    >>> from penstock.table.expressions import col
    >>> (col("price") * 2 > 10) & col("name").like("A%")
    and(greaterThan(times(price, 2), 10), LIKE(name, 'A%'))
    """

    def __getattr__(self, name: str) -> Expression[Any]:
        if name.startswith("_"):
            raise AttributeError(f"'Expression' object has no attribute '{name}'", name=name, obj=self)
        return self.get(name)

    def __getitem__(self, index: object) -> Expression[Any]:
        return self.at(index)

    def alias(self, name: str, *extra_names: str) -> Expression[T]:
        """Names the column. Table functions with several columns take several names."""
        return self._new(_alias(self.node, [name, *extra_names]), call_text("as", self, name, *extra_names))

    def as_argument(self, name: str) -> Expression[Any]:
        """Makes the value the argument with this name."""
        node = nodes.NamedArgument(this=exp.to_identifier(name, quoted=True), expression=self.node)
        return self._new(node, call_text("ASSIGNMENT", name, self))

    def cast(self, data_type: DataType) -> Expression[Any]:
        """Converts the value to another type. A value that cannot be converted is an error."""
        node = exp.Cast(this=self.node, to=type_reference(logical_of(data_type)))
        return self._new(node, f"cast({self}, {data_type})")

    def try_cast(self, data_type: DataType) -> Expression[Any]:
        """Converts the value to another type. A value that cannot be converted becomes NULL."""
        node = exp.TryCast(this=self.node, to=type_reference(logical_of(data_type)))
        return self._new(node, f"TRY_CAST({self}, {data_type})")

    @property
    def asc(self) -> Expression[Any]:
        """Sorts in ascending order."""
        return self._new(exp.Ordered(this=self.node, desc=False, nulls_first=None), call_text("asc", self))

    @property
    def desc(self) -> Expression[Any]:
        """Sorts in descending order."""
        return self._new(exp.Ordered(this=self.node, desc=True, nulls_first=None), call_text("desc", self))


def _alias(node: exp.Expr, names: Sequence[str]) -> exp.Expr:
    identifiers = [exp.to_identifier(name, quoted=True) for name in names]
    if len(identifiers) == 1:
        return exp.Alias(this=node, alias=identifiers[0])
    return exp.Aliases(this=node, expressions=identifiers)
