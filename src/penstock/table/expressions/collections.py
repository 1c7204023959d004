"""Methods of rows, arrays and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.table.dialect import nodes
from penstock.table.expressions.base import ExpressionBase, call_text, node_of

if TYPE_CHECKING:
    from penstock.table.expressions.expression import Expression


class Collections(ExpressionBase):
    """Rows, arrays and maps."""

    def get(self, name_or_index: str | int) -> Expression[Any]:
        """The field of a row by its name, or by its position from 0."""
        node: exp.Expr
        if isinstance(name_or_index, str):
            node = exp.Dot(this=self.node, expression=exp.to_identifier(name_or_index, quoted=True))
        else:
            node = nodes.FieldAt(this=self.node, index=name_or_index)
        return self._new(node, call_text("get", self, name_or_index))

    @property
    def flatten(self) -> Expression[Any]:
        """All fields of a row, each as a column."""
        return self._new(nodes.Flatten(this=self.node), call_text("flatten", self))

    def at(self, index: object) -> Expression[Any]:
        """The element of an array at a position from 1, or the value of a key of a map."""
        return self._new(exp.Bracket(this=self.node, expressions=[node_of(index)]), call_text("at", self, index))

    @property
    def cardinality(self) -> Expression[int]:
        """The number of elements."""
        return self._call("CARDINALITY", "cardinality")

    @property
    def element(self) -> Expression[Any]:
        """The only element of an array, or NULL without one."""
        return self._call("ELEMENT", "element")

    def array_append(self, addition: object) -> Expression[Any]:
        """Adds an element at the end."""
        return self._call("ARRAY_APPEND", "ARRAY_APPEND", addition)

    def array_contains(self, needle: object) -> Expression[Any]:
        """Whether an element is in the array."""
        return self._call("ARRAY_CONTAINS", "ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Expression[Any]:
        """The array without duplicates."""
        return self._call("ARRAY_DISTINCT", "ARRAY_DISTINCT")

    def array_position(self, needle: object) -> Expression[Any]:
        """Where an element first is, from 1, or 0."""
        return self._call("ARRAY_POSITION", "ARRAY_POSITION", needle)

    def array_prepend(self, addition: object) -> Expression[Any]:
        """Adds an element at the start."""
        return self._call("ARRAY_PREPEND", "ARRAY_PREPEND", addition)

    def array_remove(self, needle: object) -> Expression[Any]:
        """The array without the elements that are equal to a value."""
        return self._call("ARRAY_REMOVE", "ARRAY_REMOVE", needle)

    def array_reverse(self) -> Expression[Any]:
        """The array from its end to its start."""
        return self._call("ARRAY_REVERSE", "ARRAY_REVERSE")

    def array_slice(self, start_offset: object, end_offset: object = None) -> Expression[Any]:
        """The elements from one position to another, from 1; negative ones count from the end."""
        if end_offset is None:
            return self._call("ARRAY_SLICE", "ARRAY_SLICE", start_offset)
        return self._call("ARRAY_SLICE", "ARRAY_SLICE", start_offset, end_offset)

    def array_union(self, array: object) -> Expression[Any]:
        """The elements of both arrays without duplicates."""
        return self._call("ARRAY_UNION", "ARRAY_UNION", array)

    def array_max(self) -> Expression[Any]:
        """The largest element."""
        return self._call("ARRAY_MAX", "ARRAY_MAX")

    def array_join(self, delimiter: object, null_replacement: object = None) -> Expression[Any]:
        """The elements as text with a delimiter."""
        if null_replacement is None:
            return self._call("ARRAY_JOIN", "ARRAY_JOIN", delimiter)
        return self._call("ARRAY_JOIN", "ARRAY_JOIN", delimiter, null_replacement)

    def array_min(self) -> Expression[Any]:
        """The smallest element."""
        return self._call("ARRAY_MIN", "ARRAY_MIN")

    def array_except(self, array: object) -> Expression[Any]:
        """The elements that are not in the other array, without duplicates."""
        return self._call("ARRAY_EXCEPT", "ARRAY_EXCEPT", array)

    def array_intersect(self, array: object) -> Expression[Any]:
        """The elements in both arrays, without duplicates."""
        return self._call("ARRAY_INTERSECT", "ARRAY_INTERSECT", array)

    def split(self, delimiter: object) -> Expression[Any]:
        """The parts of text that a delimiter divides."""
        return self._call("SPLIT", "SPLIT", delimiter)

    def array_concat(self, *arrays: object) -> Expression[Any]:
        """The elements of all arrays."""
        return self._call("ARRAY_CONCAT", "ARRAY_CONCAT", *arrays)

    def array_sort(self, ascending_order: object = None, null_first: object = None) -> Expression[Any]:
        """The elements in order: ascending with NULLs first, unless something else is said."""
        options = [] if ascending_order is None else [ascending_order]
        if null_first is not None:
            options = [True if ascending_order is None else ascending_order, null_first]
        return self._call("ARRAY_SORT", "ARRAY_SORT", *options)

    @property
    def map_keys(self) -> Expression[Any]:
        """The keys of a map."""
        return self._call("MAP_KEYS", "MAP_KEYS")

    @property
    def map_values(self) -> Expression[Any]:
        """The values of a map."""
        return self._call("MAP_VALUES", "MAP_VALUES")

    @property
    def map_entries(self) -> Expression[Any]:
        """The entries of a map as rows."""
        return self._call("MAP_ENTRIES", "MAP_ENTRIES")

    def map_union(self, *maps: object) -> Expression[Any]:
        """The entries of all maps. A later map replaces values of an earlier one."""
        return self._call("MAP_UNION", "MAP_UNION", *maps)

    def str_to_map(self, list_delimiter: object = None, key_value_delimiter: object = None) -> Expression[Any]:
        """The map of text such as a=1,b=2."""
        if list_delimiter is None or key_value_delimiter is None:
            return self._call("STR_TO_MAP", "strToMap")
        return self._call("STR_TO_MAP", "strToMap", list_delimiter, key_value_delimiter)

    def object_update(self, *kv: object) -> Expression[Any]:
        """The row with other values of some fields: names and values in turn."""
        return self._call("OBJECT_UPDATE", "OBJECT_UPDATE", *kv)
