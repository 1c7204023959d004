"""Converts a JSON schema to a row type."""

from __future__ import annotations

import json
from typing import Any

from penstock.errors import ConfigError
from penstock.types import RowTypeInfo, TypeInformation, Types

_UNIONS = ("allOf", "anyOf", "not", "extends", "disallow")
_FORMATS = {"date": Types.SQL_DATE, "time": Types.SQL_TIME, "date-time": Types.SQL_TIMESTAMP}
_SIMPLE_TYPES = {"boolean": Types.BOOLEAN, "number": Types.BIG_DEC, "integer": Types.BIG_DEC}


def row_type_from_json_schema(json_schema: str) -> RowTypeInfo:
    """Returns the row type of a JSON schema whose root is an object. Numbers become decimals, as in Flink.

    >>> row_type_from_json_schema('{"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}}')
    RowTypeInfo(id: String, n: BigDecimal)
    """
    try:
        root = json.loads(json_schema)
    except ValueError as error:
        raise _schema_error(f"it is not valid JSON: {error}") from None
    kind = _Schema(root).type_of(root, "<root>")
    if not isinstance(kind, RowTypeInfo):
        raise _schema_error("its root is not an object")
    return kind


def _schema_error(problem: str) -> ConfigError:
    return ConfigError(
        "JSON_SCHEMA",
        f"The JSON schema is not supported: {problem}. Correct it, or set the row type with type_info().",
    )


class _Schema:
    def __init__(self, root: Any) -> None:
        self._root = root

    def type_of(self, node: Any, at: str) -> TypeInformation:
        if not isinstance(node, dict):
            raise _schema_error(f"{at} is not an object")
        if any(word in node for word in _UNIONS):
            raise _schema_error(f"{at} has one of {', '.join(_UNIONS)}; only unions of one type and null are supported")
        candidates: list[TypeInformation] = []
        named = self._resolve_reference(node, at) if "$ref" in node and "type" not in node else node
        if "type" in named:
            types = named["type"] if isinstance(named["type"], list) else [named["type"]]
            candidates += [self._convert_type(t, named, at) for t in types if t != "null"]
        choices = named.get("oneOf")
        if isinstance(choices, list):
            candidates += [
                self.type_of(c, f"{at}/oneOf[{i}]") for i, c in enumerate(choices) if c.get("type") != "null"
            ]
        distinct = {kind.name: kind for kind in candidates}
        if len(distinct) != 1:
            raise _schema_error(f"{at} has {'no type' if not distinct else 'several types besides null'}")
        return next(iter(distinct.values()))

    def _resolve_reference(self, node: dict[str, Any], at: str) -> dict[str, Any]:
        reference = str(node["$ref"])
        if not reference.startswith("#"):
            raise _schema_error(f"{at} refers to {reference}; only references within the document are supported")
        target = self._root
        for part in reference[1:].split("/")[1:]:
            target = target.get(part) if isinstance(target, dict) else None
        if not isinstance(target, dict) or target is node or "$ref" in target:
            raise _schema_error(f"{at} refers to {reference}, which does not exist or is itself a reference")
        return target

    def _convert_type(self, kind: Any, node: dict[str, Any], at: str) -> TypeInformation:
        if kind in _SIMPLE_TYPES:
            return _SIMPLE_TYPES[kind]()
        if kind == "string":
            if node.get("contentEncoding") == "base64":
                return Types.PRIMITIVE_ARRAY(Types.BYTE())
            if "contentEncoding" in node:
                raise _schema_error(f"{at} has the encoding {node['contentEncoding']}; only base64 is supported")
            return _FORMATS.get(node.get("format", ""), Types.STRING)()
        if kind == "object":
            if node.get("additionalProperties") is True:
                raise _schema_error(f"{at} allows additional properties, which a row cannot contain")
            fields = {n: self.type_of(p, f"{at}/{n}") for n, p in node.get("properties", {}).items()}
            return Types.ROW_NAMED(list(fields), list(fields.values()))
        if kind == "array":
            items = node.get("items")
            if isinstance(items, list):
                return Types.TUPLE([self.type_of(item, f"{at}/items[{i}]") for i, item in enumerate(items)])
            if items is not None:
                return Types.OBJECT_ARRAY(self.type_of(items, f"{at}/items"))
            raise _schema_error(f"{at} is an array without items")
        raise _schema_error(f"{at} has the unknown type {kind!r}")
