"""Methods that aggregate many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.table.dialect import nodes
from penstock.table.expressions.base import ExpressionBase, call_text, node_of

if TYPE_CHECKING:
    from penstock.table.expressions.expression import Expression


class Aggregations(ExpressionBase):
    """Aggregate functions, and what changes them."""

    @property
    def sum(self) -> Expression[Any]:
        """The sum, or NULL without values."""
        return self._call("SUM", "sum")

    @property
    def sum0(self) -> Expression[Any]:
        """The sum, or 0 without values."""
        return self._call("SUM0", "sum0")

    @property
    def min(self) -> Expression[Any]:
        """The smallest value."""
        return self._call("MIN", "min")

    @property
    def max(self) -> Expression[Any]:
        """The largest value."""
        return self._call("MAX", "max")

    @property
    def count(self) -> Expression[Any]:
        """The number of values that are not NULL."""
        return self._call("COUNT", "count")

    @property
    def avg(self) -> Expression[Any]:
        """The mean."""
        return self._call("AVG", "avg")

    @property
    def first_value(self) -> Expression[Any]:
        """The first value."""
        return self._call("FIRST_VALUE", "first_value")

    @property
    def last_value(self) -> Expression[Any]:
        """The last value."""
        return self._call("LAST_VALUE", "last_value")

    @property
    def stddev_pop(self) -> Expression[Any]:
        """The standard deviation of a population."""
        return self._call("STDDEV_POP", "stddevPop")

    @property
    def stddev_samp(self) -> Expression[Any]:
        """The standard deviation of a sample."""
        return self._call("STDDEV_SAMP", "stddevSamp")

    @property
    def var_pop(self) -> Expression[Any]:
        """The variance of a population."""
        return self._call("VAR_POP", "varPop")

    @property
    def var_samp(self) -> Expression[Any]:
        """The variance of a sample."""
        return self._call("VAR_SAMP", "varSamp")

    @property
    def collect(self) -> Expression[Any]:
        """All values as a multiset."""
        return self._call("COLLECT", "collect")

    @property
    def array_agg(self) -> Expression[Any]:
        """All values as an array."""
        return self._call("ARRAY_AGG", "ARRAY_AGG")

    def list_agg(self, separator: object = None) -> Expression[str]:
        """All values as text with a separator, or a comma."""
        return self._call("LISTAGG", "listAgg", "," if separator is None else separator)

    def percentile(self, percentage: object, frequency: object = None) -> Expression[Any]:
        """The value below which a part of the values lies; `frequency` says how often a value counts."""
        if frequency is None:
            return self._call("PERCENTILE", "PERCENTILE", percentage)
        return self._call("PERCENTILE", "PERCENTILE", percentage, frequency)

    @property
    def distinct(self) -> Expression[Any]:
        """Aggregates different values only, such as `col("a").count.distinct`."""
        node = self.node
        if isinstance(node, nodes.Call | nodes.PythonCall):
            node.set("quantifier", "DISTINCT")
        else:
            node = exp.Distinct(expressions=[node])
        return self._new(node, call_text("distinct", self))

    def over(self, alias: object) -> Expression[Any]:
        """Aggregates the rows of a window that `Table.over_window` defines and names."""
        name = alias if isinstance(alias, str) else node_of(alias).name
        node = exp.Window(this=self.node, alias=exp.to_identifier(name, quoted=True))
        return self._new(node, call_text("over", self, alias))
