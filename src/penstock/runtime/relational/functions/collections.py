"""Arrays, maps and rows: constructors, access and functions. Positions count from 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.errors import bad_argument
from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.functions.conditional import common_arguments
from penstock.runtime.relational.functions.definition import CallContext, TypeRule, Typing
from penstock.runtime.relational.functions.kernels import Family, as_column, by_value
from penstock.runtime.relational.functions.signatures import integer, matches, takes
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.common import common_type
from penstock.types.logical.kinds import (
    BOOLEAN,
    COLLECTIONS,
    INT,
    INTERVALS,
    NUMERIC,
    STRING,
    ArrayType,
    BooleanType,
    CharType,
    Field,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    VariantType,
)

_family = Family("collection")

# ---------------------------------------------------------------------------------------------- constructors


def _array_rule(call: Typing) -> LogicalType:
    if not len(call):
        call.refuse("at least 1 argument")
    return ArrayType(common_arguments(call, first_of_equals=True), nullable=False)


@_family.values("ARRAY", _array_rule, "an array of values", strict=False)
def array(*values: Any) -> list[Any]:
    return list(values)


def _map_rule(call: Typing) -> LogicalType:
    if not len(call) or len(call) % 2:
        call.refuse("an even number of arguments")
    key = common_arguments(call, list(range(0, len(call), 2)))
    if any(isinstance(t, NullType) for t in call.types):
        call.refuse("values with a type, such as CAST(NULL AS INT),")
    value = common_arguments(call, list(range(1, len(call), 2)), first_of_equals=True)
    return MapType(key, value, nullable=False)


def _has_nullable_keys(arguments: Sequence[LogicalType], result: LogicalType) -> bool:
    """A map cannot have NULL as a key, which is an error only where the map is needed."""
    return any(type_.nullable for type_ in arguments[::2])


@_family.values("MAP", _map_rule, "a map of keys and values", strict=False, raises=_has_nullable_keys)
def map_of(*values: Any) -> list[tuple[Any, Any]]:
    if any(key is None for key in values[::2]):
        raise bad_argument("MAP", "a key is NULL")
    return list(_unique(zip(values[::2], values[1::2], strict=True)))


def _unique(pairs: Any) -> Any:
    """Keeps the last value of each key, at the place of its first."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        found[_hashable(key)] = (key, value)
    return found.values()


def _hashable(value: Any) -> Any:
    return tuple(_hashable(v) for v in value) if isinstance(value, list | tuple) else value


def _row_rule(call: Typing) -> LogicalType:
    if any(isinstance(t, NullType) for t in call.types) or not len(call):
        call.refuse("values with a type; cast NULL to one")
    return RowType(tuple(Field(f"EXPR${i}", t) for i, t in enumerate(call.types)), nullable=False)


@_family.columns("ROW", _row_rule, "a row of values")
def row(call: CallContext, *values: Value) -> Value:
    columns = [as_column(call, v) for v in values]
    wanted = arrow_type(call.type)
    return pa.StructArray.from_arrays(columns, fields=[wanted.field(i) for i in range(wanted.num_fields)])


# ---------------------------------------------------------------------------------------------------- access


def _item_rule(call: Typing) -> LogicalType:
    container, key = call.types
    if isinstance(container, ArrayType):
        if not isinstance(key, IntegerType) or key.bits != 32:
            call.refuse("<ARRAY>[<INTEGER>]", 1)
        if isinstance(call.literals[1], int) and call.literals[1] < 1:
            call.refuse("an index from 1 on", 1)
        return container.element.with_nullable(True)
    if isinstance(container, MapType):
        if common_type([container.key, key]) is None:
            call.refuse(f"a key of type {container.key}", 1)
        if not isinstance(key, CharType):
            call.cast(1, container.key)
        return container.value.with_nullable(True)
    if isinstance(container, VariantType):
        return VariantType()
    if isinstance(container, RowType) and isinstance(call.literals[1], int | str):
        index = container.index(call.literals[1]) if isinstance(call.literals[1], str) else call.literals[1] - 1
        if index is not None and 0 <= index < len(container.fields):
            found = container.fields[index].type
            return found.with_nullable(found.nullable or container.nullable)
    return call.refuse("<ARRAY>[<INTEGER>] or <MAP>[<ANY>]")


@_family.columns("ITEM", _item_rule, "an element of an array, or the value of a key in a map")
def item(call: CallContext, container: Value, key: Value) -> Value:
    type_ = call.argument_types[0]
    if isinstance(type_, ArrayType) and isinstance(container, pa.Array):
        return _element(call, container, key)
    if isinstance(type_, VariantType):
        from penstock.runtime.relational.functions.json_functions import variant_item

        return by_value(variant_item, strict=True)(call, container, key)
    if isinstance(type_, RowType):
        index = (
            type_.index(key[0].as_py())
            if isinstance(call.argument_types[1], CharType)
            else as_column(call, key)[0].as_py() - 1
        )
        return pc.struct_field(container, [index])
    return by_value(_value_of_key if isinstance(type_, MapType) else _nth, strict=True)(call, container, key)


def _nth(values: list[Any], index: int) -> Any:
    return values[index - 1] if 1 <= index <= len(values) else None


def _element(call: CallContext, arrays: pa.Array, index: Value) -> pa.Array:
    """Takes elements by position, without a loop."""
    start, end = arrays.offsets[:-1].to_numpy(), arrays.offsets[1:].to_numpy()
    wanted = as_column(call, index)
    numbers = wanted.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    missing = (numbers < 1) | (numbers > end - start)
    if arrays.null_count:
        missing |= arrays.is_null().to_numpy(zero_copy_only=False)
    return arrays.values.take(pa.array(start + numbers - 1, pa.int64(), mask=missing))


def _value_of_key(pairs: list[tuple[Any, Any]], key: Any) -> Any:
    for found, value in pairs:
        if found == key:
            return value
    return None


def _field_rule(call: Typing) -> LogicalType:
    container = call.types[0]
    assert isinstance(container, RowType)
    field: Field = container.fields[call.options[0]]
    return field.type.with_nullable(field.type.nullable or container.nullable)


@_family.columns("FIELD", _field_rule, "a field of a row")
def field_of(call: CallContext, container: Value) -> Value:
    found = pc.struct_field(container, [call.options[0]])
    if isinstance(container, pa.Array) and container.null_count and not pa.types.is_nested(found.type):
        return pc.if_else(container.is_valid(), found, pa.scalar(None, found.type))
    return found


def _cardinality_rule(call: Typing) -> LogicalType:
    if len(call) != 1 or not isinstance(call.types[0], ArrayType | MapType | MultisetType):
        call.refuse("CARDINALITY(array, map or multiset)")
    return integer(call)


@_family.columns("CARDINALITY", _cardinality_rule, "the number of elements")
def cardinality(call: CallContext, value: Value) -> Value:
    if pa.types.is_map(value.type):
        return by_value(len, strict=True)(call, value)
    return pc.list_value_length(value)


def _element_rule(call: Typing) -> LogicalType:
    if len(call) != 1 or not isinstance(call.types[0], ArrayType | MultisetType):
        call.refuse("ELEMENT(array)")
    return call.types[0].element.with_nullable(call.types[0].nullable or call.types[0].element.nullable)


@_family.values("ELEMENT", _element_rule, "the only element of an array; an error if there are several", raises=True)
def element(values: list[Any]) -> Any:
    if len(values) > 1:
        raise bad_argument("ELEMENT", f"the array has {len(values)} elements, one was expected")
    return values[0] if values else None


# ---------------------------------------------------------------------------------------------------- arrays


def _array_and_element(call: Typing) -> ArrayType:
    array_type = call.types[0] if len(call) == 2 else NullType()
    if not isinstance(array_type, ArrayType):
        call.refuse("(array, element)")
    element_type = call.types[1]
    if isinstance(element_type, NullType):
        call.cast(1, array_type.element)
        return array_type
    if not _fits(element_type, array_type.element):
        call.refuse(f"an element of type {array_type.element}", 1)
    call.cast(1, array_type.element)
    return array_type


def _fits(type_: LogicalType, target: LogicalType) -> bool:
    """Whether a value is converted to the elements of an array without a CAST."""
    if not isinstance(type_, NUMERIC) or not isinstance(target, NUMERIC):
        return common_type([target, type_]) is not None
    if isinstance(target, IntegerType):
        return isinstance(type_, IntegerType) and type_.bits <= target.bits
    return not (isinstance(target, FloatType) and isinstance(type_, FloatType) and type_.bits > target.bits)


def _appended(call: Typing) -> LogicalType:
    array_type = _array_and_element(call)
    element = array_type.element.with_nullable(array_type.element.nullable or call.types[1].nullable)
    call.cast(0, ArrayType(element, nullable=array_type.nullable))
    return ArrayType(element, nullable=call.any_nullable)


@_family.values("ARRAY_APPEND", _appended, "the array with an element at its end", strict=False)
def array_append(values: list[Any] | None, value: Any) -> list[Any] | None:
    return None if values is None else [*values, value]


@_family.values("ARRAY_PREPEND", _appended, "the array with an element in front", strict=False)
def array_prepend(values: list[Any] | None, value: Any) -> list[Any] | None:
    return None if values is None else [value, *values]


def _searched(result: LogicalType | None, needle_counts: bool = False) -> Any:
    def rule(call: Typing) -> LogicalType:
        nullable = call.types[0].nullable or (needle_counts and len(call) > 1 and call.types[1].nullable)
        array_type = _array_and_element(call)
        return (array_type if result is None else result).with_nullable(nullable)

    return rule


@_family.values("ARRAY_CONTAINS", _searched(BOOLEAN), "the array contains an element", strict=False)
def array_contains(values: list[Any] | None, needle: Any) -> bool | None:
    return None if values is None else needle in values


@_family.values(
    "ARRAY_POSITION",
    _searched(INT, needle_counts=True),
    "the position of an element, 0 if it is not there",
    strict=False,
)
def array_position(values: list[Any] | None, needle: Any) -> int | None:
    if values is None or needle is None:
        return None
    return values.index(needle) + 1 if needle in values else 0


@_family.values("ARRAY_REMOVE", _searched(None), "the array without an element", strict=False)
def array_remove(values: list[Any] | None, needle: Any) -> list[Any] | None:
    return None if values is None else [v for v in values if v != needle]


def _same_array(*patterns: str) -> Any:
    return takes(*patterns, returns=lambda call: call.types[0].with_nullable(call.any_nullable))


def _distinct(values: list[Any]) -> list[Any]:
    seen, found = set(), []
    for value in values:
        key = _hashable(value)
        if key not in seen:
            seen.add(key)
            found.append(value)
    return found


@_family.values("ARRAY_DISTINCT", _same_array("array"), "the array without duplicates")
def array_distinct(values: list[Any]) -> list[Any]:
    return _distinct(values)


@_family.values("ARRAY_REVERSE", _same_array("array"), "the elements in reverse order")
def array_reverse(values: list[Any]) -> list[Any]:
    return values[::-1]


@_family.values(
    "ARRAY_SLICE",
    _same_array("array, int[, int]"),
    "the elements from one position to another; negative ones count from the end",
)
def array_slice(values: list[Any], start: int, end: int | None = None) -> list[Any]:
    size = len(values)
    if not size:
        return []
    first = max(size + start, 0) if start < 0 else max(start - 1, 0)
    last = size if end is None else size + end + 1 if end < 0 else min(end if end else 1, size)
    return values[first:last] if first < last else []


def _refuse_unordered(call: Typing) -> None:
    array_type = call.types[0]
    if isinstance(array_type, ArrayType) and isinstance(
        array_type.element, (*COLLECTIONS, *INTERVALS, NullType, BooleanType, VariantType)
    ):
        call.refuse("an array of elements that have an order, such as numbers, texts or points in time,")


def _order(value: Any) -> Any:
    """A key to sort by. NaN is greater than all numbers."""
    return (value != value, value) if isinstance(value, float) else value


def _sorted_rule(call: Typing) -> LogicalType:
    found = _same_array("array[, boolean[, boolean]]")(call)
    _refuse_unordered(call)
    assert isinstance(found, ArrayType)
    return found


@_family.values(
    "ARRAY_SORT",
    _sorted_rule,
    "the elements in order; nulls first if ascending, by default",
)
def array_sort(values: list[Any], ascending: bool = True, nulls_first: bool | None = None) -> list[Any]:
    nulls = [v for v in values if v is None]
    known = sorted((v for v in values if v is not None), key=_order, reverse=not ascending)
    return nulls + known if (ascending if nulls_first is None else nulls_first) else known + nulls


def _common_arrays(least: int, most: int | None) -> Any:
    def rule(call: Typing) -> LogicalType:
        if (
            len(call) < least
            or (most is not None and len(call) > most)
            or not all(isinstance(t, ArrayType | NullType) for t in call.types)
        ):
            call.refuse("arrays")
        nullable = call.any_nullable
        return common_arguments(call).with_nullable(nullable)

    return rule


@_family.values("ARRAY_UNION", _common_arrays(2, 2), "the elements of two arrays without duplicates")
def array_union(a: list[Any], b: list[Any]) -> list[Any]:
    return _distinct(a + b)


@_family.values("ARRAY_CONCAT", _common_arrays(1, None), "arrays one after another")
def array_concat(*arrays: list[Any]) -> list[Any]:
    return [v for values in arrays for v in values]


@_family.values(
    "ARRAY_EXCEPT",
    _common_arrays(2, 2),
    "the elements of the first array that are not in the second, without duplicates",
)
def array_except(a: list[Any], b: list[Any]) -> list[Any]:
    return [v for v in _distinct(a) if v not in b]


@_family.values("ARRAY_INTERSECT", _common_arrays(2, 2), "the elements in both arrays, without duplicates")
def array_intersect(a: list[Any], b: list[Any]) -> list[Any]:
    return [v for v in _distinct(a) if v in b]


def _extreme(call: Typing) -> LogicalType:
    if len(call) != 1 or not isinstance(call.types[0], ArrayType):
        call.refuse("(array)")
    _refuse_unordered(call)
    return call.types[0].element.with_nullable(True)


@_family.values("ARRAY_MAX", _extreme, "the greatest element; nulls are left out")
def array_max(values: list[Any]) -> Any:
    return max((v for v in values if v is not None), default=None)


@_family.values("ARRAY_MIN", _extreme, "the least element; nulls are left out")
def array_min(values: list[Any]) -> Any:
    return min((v for v in values if v is not None), default=None)


def _joined(call: Typing) -> LogicalType:
    first = call.types[0] if len(call) else NullType()
    if (
        not matches("array, text[, text]")(call)
        or not isinstance(first, ArrayType)
        or not isinstance(first.element, CharType)
    ):
        call.refuse("ARRAY_JOIN(array of text, delimiter[, text for null])")
    return STRING.with_nullable(call.any_nullable)


@_family.values("ARRAY_JOIN", _joined, "the elements as one text with a delimiter")
def array_join(values: list[str | None], delimiter: str, null: str | None = None) -> str:
    return delimiter.join(v if v is not None else null for v in values if v is not None or null is not None)  # type: ignore[misc]


# ------------------------------------------------------------------------------------------------------ maps


def _of_map(build: Callable[[MapType], LogicalType]) -> TypeRule:
    def rule(call: Typing) -> LogicalType:
        if len(call) != 1 or not isinstance(call.types[0], MapType):
            call.refuse("(map)")
        return build(call.types[0]).with_nullable(call.types[0].nullable)

    return rule


@_family.values("MAP_KEYS", _of_map(lambda m: ArrayType(m.key)), "the keys of a map")
def map_keys(pairs: list[tuple[Any, Any]]) -> list[Any]:
    return [k for k, _ in pairs]


@_family.values("MAP_VALUES", _of_map(lambda m: ArrayType(m.value)), "the values of a map")
def map_values(pairs: list[tuple[Any, Any]]) -> list[Any]:
    return [v for _, v in pairs]


@_family.values(
    "MAP_ENTRIES",
    _of_map(lambda m: ArrayType(RowType((Field("key", m.key), Field("value", m.value))))),
    "the entries of a map as rows",
)
def map_entries(pairs: list[tuple[Any, Any]]) -> list[Any]:
    return list(pairs)


def _from_arrays(call: Typing) -> LogicalType:
    if len(call) != 2 or not all(isinstance(t, ArrayType) for t in call.types):
        call.refuse("(array of keys, array of values)")
    keys, values = call.types
    assert isinstance(keys, ArrayType)
    assert isinstance(values, ArrayType)
    return MapType(keys.element, values.element, nullable=call.any_nullable)


@_family.values("MAP_FROM_ARRAYS", _from_arrays, "the map of an array of keys and an array of values", raises=True)
def map_from_arrays(keys: list[Any], values: list[Any]) -> list[tuple[Any, Any]]:
    if len(keys) != len(values):
        raise bad_argument(
            "MAP_FROM_ARRAYS", f"{len(keys)} keys and {len(values)} values; both arrays must have the same length"
        )
    return list(_unique(zip(keys, values, strict=True)))


def _union_rule(call: Typing) -> LogicalType:
    if not len(call) or not all(isinstance(t, MapType | NullType) for t in call.types):
        call.refuse("maps")
    nullable = call.any_nullable
    return common_arguments(call).with_nullable(nullable)


@_family.values("MAP_UNION", _union_rule, "the entries of several maps; a later map wins")
def map_union(*maps: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return list(_unique(pair for pairs in maps for pair in pairs))
