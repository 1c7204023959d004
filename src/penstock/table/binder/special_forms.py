"""Functions whose calls have a syntax of their own, or that are written in terms of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.runtime.relational.expressions.tree import Call, Expression, Literal
from penstock.table.binder.objects import object_of, object_update
from penstock.table.dialect import nodes
from penstock.types.logical.common import common_type
from penstock.types.logical.kinds import (
    COLLECTIONS,
    STRING,
    BooleanType,
    CharType,
    NullType,
    TimestampType,
)
from penstock.types.logical.text import summary

if TYPE_CHECKING:
    from penstock.table.binder.expressions import ExpressionBinder

Form = Callable[["ExpressionBinder", nodes.Call], Expression]


def _arguments(binder: ExpressionBinder, node: nodes.Call, least: int, most: int) -> list[Expression]:
    if not least <= len(node.expressions) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise binder.refuse(
            "SQL_TYPE",
            f"Invalid number of arguments to function '{node.name.upper()}'. Was expecting {wanted} arguments.",
            node,
        )
    return binder.bind_all(node.expressions)


def _with_unit(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    name = "CEIL" if node.name.upper() == "CEILING" else node.name.upper()
    unit = node.args.get("unit")
    return binder.call(name, binder.bind_all(node.expressions), node, () if unit is None else (unit,))


def _trim(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    return binder.call("TRIM", binder.bind_all(node.expressions), node, (node.args.get("flag") or "BOTH",))


def _if(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    condition, yes, no = _arguments(binder, node, 3, 3)
    if not isinstance(condition.type, BooleanType):
        raise binder.refuse("SQL_TYPE", f"IF takes a boolean first, found {summary(condition.type)}.", node)
    if any(isinstance(v.type, (*COLLECTIONS, NullType)) for v in (yes, no)):
        raise binder.refuse(
            "SQL_TYPE", "IF takes numbers, texts, booleans or points in time. Use CASE for other values.", node
        )
    found = binder.case([condition, yes, no], node)
    assert isinstance(found, Call)
    return Call(
        found.function, found.arguments, found.type.with_nullable(found.type.nullable or condition.type.nullable)
    )


def _nullif(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    first, second = _arguments(binder, node, 2, 2)
    equal = binder.call("=", [first, second], node)
    return Call("CASE", (equal, Literal(None, first.type.with_nullable(True)), first), first.type.with_nullable(True))


def _ifnull(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    first, second = _arguments(binder, node, 2, 2)
    common = common_type([first.type, second.type])
    if common is None:
        raise binder.refuse(
            "SQL_TYPE", f"IFNULL of {summary(first.type)} and {summary(second.type)}: no common type.", node
        )
    found = binder.call("COALESCE", [first, second], node)
    if isinstance(first.type, CharType) and not first.type.nullable:
        return first
    return found


def _typeof(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    first = _arguments(binder, node, 1, 2)[0]
    return Literal(summary(first.type), STRING)


def _current_watermark(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    argument = _arguments(binder, node, 1, 1)[0]
    type_ = argument.type
    if not isinstance(type_, TimestampType) or type_.attribute != "ROWTIME":
        raise binder.refuse(
            "SQL_TYPE",
            f"CURRENT_WATERMARK() must be called with a single rowtime attribute argument, found {summary(type_)}.",
            node,
        )
    return Call("CURRENT_WATERMARK", (argument,), TimestampType(type_.precision, type_.local))


# ------------------------------------------------------------------------------------------------------ JSON


def _behaviour(node: nodes.Call, key: str, default: str) -> tuple[str, list[nodes.Behavior]]:
    found = node.args.get(key)
    if found is None:
        return default, []
    return found.name, [found] if found.args.get("expression") is not None else []


def _returning(binder: ExpressionBinder, node: nodes.Call) -> object:
    from penstock.table.binder.types import resolve_type

    written = node.args.get("returning")
    return None if written is None else resolve_type(written.this)


def _json_value(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    on_empty, empty = _behaviour(node, "on_empty", "NULL")
    on_error, error = _behaviour(node, "on_error", "NULL")
    defaults = [binder.bind(b.expression) for b in (*empty, *error)]
    arguments = [*binder.bind_all(node.expressions), *defaults]
    return binder.call("JSON_VALUE", arguments, node, (_returning(binder, node), on_empty, on_error))


def _json_query(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    wrapper = node.args.get("wrapper") or "WITHOUT"
    options = (wrapper, _behaviour(node, "on_empty", "NULL")[0], _behaviour(node, "on_error", "NULL")[0])
    return binder.call("JSON_QUERY", binder.bind_all(node.expressions), node, (_returning(binder, node), *options))


def _json_exists(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    return binder.call(
        "JSON_EXISTS", binder.bind_all(node.expressions), node, (_behaviour(node, "on_error", "FALSE")[0],)
    )


_PRODUCERS = ("JSON_OBJECT", "JSON_ARRAY", "JSON")


def _is_document(value: object) -> bool:
    """Results of JSON functions are taken over as JSON, other text is quoted."""
    return isinstance(value, nodes.Call) and value.name.upper() in _PRODUCERS


def _json_object(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    pairs = node.expressions
    arguments: list[Expression] = []
    for pair in pairs:
        key = binder.bind(pair.this)
        if not isinstance(key.type, CharType):
            raise binder.refuse("SQL_TYPE", f"A key of JSON_OBJECT must be text, found {summary(key.type)}.", pair)
        arguments += [key, _json_argument(binder, pair.expression)]
    raw = [_is_document(pair.expression) for pair in pairs]
    return binder.call("JSON_OBJECT", arguments, node, (node.args.get("on_null") or "NULL", *raw))


def _json_array(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    arguments = [_json_argument(binder, e) for e in node.expressions]
    raw = [_is_document(e) for e in node.expressions]
    return binder.call("JSON_ARRAY", arguments, node, (node.args.get("on_null") or "ABSENT", *raw))


def _json_argument(binder: ExpressionBinder, node: object) -> Expression:
    found = binder.bind(node)  # type: ignore[arg-type]
    return Literal(None, STRING) if isinstance(found.type, NullType) else found


def _json_document(binder: ExpressionBinder, node: nodes.Call) -> Expression:
    parent = node.parent
    inside = isinstance(parent, nodes.KeyValue) or (
        isinstance(parent, nodes.Call) and parent.name.upper() == "JSON_ARRAY"
    )
    if not inside:
        raise binder.refuse("SQL_UNSUPPORTED", "JSON(...) is only allowed inside JSON_OBJECT and JSON_ARRAY.", node)
    return binder.call("JSON", _arguments(binder, node, 1, 1), node)


SPECIAL_FORMS: dict[str, Form] = {
    "EXTRACT": _with_unit,
    "FLOOR": _with_unit,
    "CEIL": _with_unit,
    "CEILING": _with_unit,
    "TIMESTAMPADD": _with_unit,
    "TIMESTAMPDIFF": _with_unit,
    "TRIM": _trim,
    "IF": _if,
    "NULLIF": _nullif,
    "IFNULL": _ifnull,
    "TYPEOF": _typeof,
    "CURRENT_WATERMARK": _current_watermark,
    "JSON_VALUE": _json_value,
    "JSON_QUERY": _json_query,
    "JSON_EXISTS": _json_exists,
    "JSON_OBJECT": _json_object,
    "JSON_ARRAY": _json_array,
    "JSON": _json_document,
    "OBJECT_OF": object_of,
    "OBJECT_UPDATE": object_update,
}
