"""Arrays, rows, maps and JSON documents of several values."""

from __future__ import annotations

import json as json_module
from typing import Any

from penstock.errors import PlanError
from penstock.table.dialect import nodes
from penstock.table.expressions.base import call_text, node_of
from penstock.table.expressions.expression import Expression
from penstock.table.expressions.function import function
from penstock.table.expressions.units import JsonOnNull


def array(head: object, *tail: object) -> Expression[Any]:
    """Returns an array.

    >>> array(1, 2, 3)
    array(1, 2, 3)
    """
    parts = (head, *tail)
    return Expression(nodes.ArrayConstructor(expressions=[node_of(p) for p in parts]), call_text("array", *parts))


def row(head: object, *tail: object) -> Expression[Any]:
    """Returns a row."""
    parts = (head, *tail)
    node = nodes.RowValue(expressions=[node_of(p) for p in parts], explicit=True)
    return Expression(node, call_text("row", *parts))


def map_(key: object, value: object, *tail: object) -> Expression[Any]:
    """Returns a map of keys and values in turn."""
    parts = (key, value, *tail)
    _check_pairs("map_", parts)
    return Expression(nodes.MapConstructor(expressions=[node_of(p) for p in parts]), call_text("map", *parts))


def map_from_arrays(key: object, value: object) -> Expression[Any]:
    """Returns the map of an array of keys and an array of values."""
    return function("MAP_FROM_ARRAYS", "MAP_FROM_ARRAYS", key, value)


def object_of(class_name: str, *args: object) -> Expression[Any]:
    """Returns a row of a structured type: names of fields and values in turn."""
    _check_pairs("object_of", args)
    return function("OBJECT_OF", "OBJECT_OF", class_name, *args)


def json(value: object) -> Expression[str]:
    """Makes text part of a JSON document as it is, inside `json_object` and `json_array`."""
    return function("JSON", "JSON", value)


# `from penstock.table.expressions import *` replaces the module json of a program, whose functions are therefore here as well.
for _name in ("dump", "dumps", "load", "loads"):
    setattr(json, _name, getattr(json_module, _name))


def json_string(value: object) -> Expression[str]:
    """Returns a value as JSON."""
    return function("JSON_STRING", "JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: object) -> Expression[str]:
    """Returns a JSON object of keys and values in turn.

    >>> json_object(JsonOnNull.NULL, "a", 1)
    JSON_OBJECT(NULL, 'a', 1)
    """
    _check_pairs("json_object", args)
    pairs = [nodes.KeyValue(this=node_of(k), expression=node_of(v)) for k, v in zip(args[::2], args[1::2], strict=True)]
    node = nodes.Call(this="JSON_OBJECT", expressions=pairs, on_null=on_null.name)
    return Expression(node, call_text("JSON_OBJECT", on_null, *args))


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: object) -> Expression[str]:
    """Returns a JSON array of values."""
    node = nodes.Call(this="JSON_ARRAY", expressions=[node_of(a) for a in args], on_null=on_null.name)
    return Expression(node, call_text("JSON_ARRAY", on_null, *args))


def json_object_agg(on_null: JsonOnNull, key_expr: object, value_expr: object) -> Expression[str]:
    """Aggregates keys and values to a JSON object."""
    pair = nodes.KeyValue(this=node_of(key_expr), expression=node_of(value_expr))
    node = nodes.Call(this="JSON_OBJECTAGG", expressions=[pair], on_null=on_null.name)
    return Expression(node, call_text(f"JSON_OBJECTAGG_{on_null.name}_ON_NULL", key_expr, value_expr))


def json_array_agg(on_null: JsonOnNull, item_expr: object) -> Expression[str]:
    """Aggregates values to a JSON array."""
    node = nodes.Call(this="JSON_ARRAYAGG", expressions=[node_of(item_expr)], on_null=on_null.name)
    return Expression(node, call_text(f"JSON_ARRAYAGG_{on_null.name}_ON_NULL", item_expr))


def _check_pairs(name: str, parts: tuple[object, ...]) -> None:
    if len(parts) % 2:
        raise PlanError("TABLE_EXPRESSION", f"{name} takes keys and values in turn, found {len(parts)} arguments.")
