"""The type of rows that a JSON schema describes."""

from __future__ import annotations

import json
from typing import Any

from penstock.errors import ConfigError
from penstock.types import RowTypeInfo, TypeInformation, Types

_UNIONS = ("allOf", "anyOf", "not", "extends", "disallow")
_FORMATS = {"date": Types.SQL_DATE, "time": Types.SQL_TIME, "date-time": Types.SQL_TIMESTAMP}
_PLAIN = {"boolean": Types.BOOLEAN, "number": Types.BIG_DEC, "integer": Types.BIG_DEC}


def row_type_of_json_schema(json_schema: str) -> RowTypeInfo:
    """The rows that a JSON schema of an object describes. Numbers are decimals, as in Flink.

    >>> row_type_of_json_schema('{"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}}')
    RowTypeInfo(id: String, n: BigDecimal)
    """
    try:
        root = json.loads(json_schema)
    except ValueError as error:
        raise _wrong(f"it is no JSON: {error}") from None
    kind = _Schema(root).type_of(root, "<root>")
    if not isinstance(kind, RowTypeInfo):
        raise _wrong("its root is no object")
    return kind


def _wrong(what: str) -> ConfigError:
    return ConfigError(
        "JSON_SCHEMA",
        f"The JSON schema cannot be used: {what}. Correct it, or give the type of the rows with type_info().",
    )


class _Schema:
    def __init__(self, root: Any) -> None:
        self._root = root

    def type_of(self, node: Any, at: str) -> TypeInformation:
        if not isinstance(node, dict):
            raise _wrong(f"{at} is no object")
        if any(word in node for word in _UNIONS):
            raise _wrong(f"{at} has one of {', '.join(_UNIONS)}, and only a type that may be null is known")
        found: list[TypeInformation] = []
        named = self._referred(node, at) if "$ref" in node and "type" not in node else node
        if "type" in named:
            types = named["type"] if isinstance(named["type"], list) else [named["type"]]
            found += [self._of_type(t, named, at) for t in types if t != "null"]
        choices = named.get("oneOf")
        if isinstance(choices, list):
            found += [self.type_of(c, f"{at}/oneOf[{i}]") for i, c in enumerate(choices) if c.get("type") != "null"]
        distinct = {kind.name: kind for kind in found}
        if len(distinct) != 1:
            raise _wrong(f"{at} has {'no type' if not distinct else 'several types besides null'}")
        return next(iter(distinct.values()))

    def _referred(self, node: dict[str, Any], at: str) -> dict[str, Any]:
        reference = str(node["$ref"])
        if not reference.startswith("#"):
            raise _wrong(f"{at} refers to {reference}, and only references inside the document are followed")
        found = self._root
        for part in reference[1:].split("/")[1:]:
            found = found.get(part) if isinstance(found, dict) else None
        if not isinstance(found, dict) or found is node or "$ref" in found:
            raise _wrong(f"{at} refers to {reference}, which is not there or only refers further")
        return found

    def _of_type(self, kind: Any, node: dict[str, Any], at: str) -> TypeInformation:
        if kind in _PLAIN:
            return _PLAIN[kind]()
        if kind == "string":
            if node.get("contentEncoding") == "base64":
                return Types.PRIMITIVE_ARRAY(Types.BYTE())
            if "contentEncoding" in node:
                raise _wrong(f"{at} has the encoding {node['contentEncoding']}, and only base64 is known")
            return _FORMATS.get(node.get("format", ""), Types.STRING)()
        if kind == "object":
            if node.get("additionalProperties") is True:
                raise _wrong(f"{at} allows additional properties, which a row has no place for")
            fields = {n: self.type_of(p, f"{at}/{n}") for n, p in node.get("properties", {}).items()}
            return Types.ROW_NAMED(list(fields), list(fields.values()))
        if kind == "array":
            items = node.get("items")
            if isinstance(items, list):
                return Types.TUPLE([self.type_of(item, f"{at}/items[{i}]") for i, item in enumerate(items)])
            if items is not None:
                return Types.OBJECT_ARRAY(self.type_of(items, f"{at}/items"))
            raise _wrong(f"{at} is an array without items")
        raise _wrong(f"{at} has the type {kind!r}")
