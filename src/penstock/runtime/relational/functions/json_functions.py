"""Functions of JSON documents and variants."""

from __future__ import annotations

import base64
import decimal
import json
from collections.abc import Callable
from typing import Any

from penstock.errors import ExpressionError
from penstock.runtime.relational.casts.cast import parser
from penstock.runtime.relational.casts.to_text import to_text
from penstock.runtime.relational.expressions.errors import bad_argument
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.values import from_values
from penstock.runtime.relational.functions.definition import CallContext, Typing
from penstock.runtime.relational.functions.kernels import Family
from penstock.runtime.relational.functions.signatures import matches, takes, text, text_or_null
from penstock.runtime.relational.java.json_path import (
    NotJson,
    RawJson,
    compile_path,
    evaluate,
    read_json,
    scalar_text,
    write_json,
)
from penstock.runtime.relational.java.numbers import double_text
from penstock.types.logical.kinds import (
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    TimestampType,
    VariantType,
)

_family = Family("json")


def _failed(function: str, error: Exception | str) -> ExpressionError:
    return bad_argument(function, str(error))


# ------------------------------------------------------------------------------------------------- questions


def _is_json_rule(call: Typing) -> LogicalType:
    if not matches("text")(call):
        call.refuse("a text")
    return BOOLEAN.with_nullable(False)


@_family.values(
    "IS_JSON", _is_json_rule, "the text is JSON: a value, a scalar, an array or an object", context=True, strict=False
)
def is_json(call: CallContext, value: str | None) -> bool:
    if value is None:
        return False
    kind = str(call.options[0]) if call.options else "VALUE"
    try:
        found = read_json(value)
    except NotJson:
        return False
    if kind == "OBJECT":
        return isinstance(found, dict)
    if kind == "ARRAY":
        return isinstance(found, list)
    return kind == "VALUE" or not isinstance(found, dict | list)


_document = takes("text, text", returns=lambda call: BOOLEAN)


@_family.values("JSON_EXISTS", _document, "the path leads to a value", raises=True, context=True)
def json_exists(call: CallContext, document: str, path: str) -> bool | None:
    on_error = call.options[0] if call.options else "FALSE"
    _, value, error = evaluate(document, path)
    if error is None:
        return value is not None
    if on_error == "ERROR":
        raise _failed("JSON_EXISTS", error)
    return {"TRUE": True, "FALSE": False, "UNKNOWN": None}[str(on_error)]


# ------------------------------------------------------------------------------------------------------ parts


def _value_rule(call: Typing) -> LogicalType:
    """Options: type, ON EMPTY, ON ERROR. Arguments behind the path are the defaults."""
    if len(call) < 2 or not matches("text, text")(Typing(call.types[:2], call.literals[:2])):
        call.refuse("JSON_VALUE(text, path)")
    type_: LogicalType = call.options[0] if call.options and call.options[0] is not None else STRING
    if not isinstance(type_, CharType | BooleanType) and type_.with_nullable(True) not in (INT, DOUBLE):
        call.refuse("RETURNING STRING, BOOLEAN, INT or DOUBLE")
    for position in range(2, len(call)):
        if not isinstance(call.types[position], CharType) or not isinstance(type_, CharType):
            call.cast(position, type_)
    return type_.with_nullable(True)


@_family.values(
    "JSON_VALUE", _value_rule, "the scalar at a path of a document", raises=True, strict=False, context=True
)
def json_value(call: CallContext, document: str | None, path: str | None, *defaults: Any) -> Any:
    if document is None or path is None:
        return None
    on_empty, on_error = (str(o) for o in call.options[1:3]) if len(call.options) > 2 else ("NULL", "NULL")
    spare = iter(defaults)
    empty_default = next(spare) if on_empty == "DEFAULT" else None
    error_default = next(spare) if on_error == "DEFAULT" else None

    def failed(error: Exception | str) -> Any:
        if on_error == "ERROR":
            raise _failed("JSON_VALUE", error)
        return error_default

    mode, value, error = evaluate(document, path)
    if error is not None:
        return failed(error)
    nested = isinstance(value, dict | list)
    if value is None or (nested and mode == "lax"):
        if on_empty == "ERROR":
            raise _failed("JSON_VALUE", "the path leads to no scalar value, and ERROR ON EMPTY was requested")
        return empty_default
    if nested:
        return failed("the path leads to an array or an object, not to a scalar value")
    return _returned(call.type, value, call.session, failed)


def _returned(type_: LogicalType, value: Any, session: Session, failed: Callable[[Any], Any]) -> Any:
    if isinstance(type_, CharType):
        return value if isinstance(value, str) else scalar_text(value)
    if isinstance(type_, BooleanType) and isinstance(value, bool):
        return value
    if isinstance(type_, FloatType) and isinstance(value, decimal.Decimal | int) and not isinstance(value, bool):
        return float(value)
    found = parser(type_, session)(value if isinstance(value, str) else scalar_text(value))
    return failed(f"'{value}' is not a value of type {type_}") if found is None else found


def _query_rule(call: Typing) -> LogicalType:
    if not matches("text, text")(call):
        call.refuse("JSON_QUERY(text, path)")
    type_: LogicalType = call.options[0] if call.options and call.options[0] is not None else STRING
    array_of_text = isinstance(type_, ArrayType) and isinstance(type_.element, CharType)
    if not isinstance(type_, CharType) and not array_of_text:
        call.refuse("RETURNING STRING or ARRAY<STRING>")
    return type_.with_nullable(True)


@_family.values(
    "JSON_QUERY", _query_rule, "the array or object at a path of a document, as JSON", raises=True, context=True
)
def json_query(call: CallContext, document: str, path: str) -> Any:
    wrapper, on_empty, on_error = (
        (str(o) for o in call.options[1:4]) if len(call.options) > 3 else ("WITHOUT", "NULL", "NULL")
    )
    mode, value, error = evaluate(document, path)
    if error is not None:
        return _behaved(call, on_error, error)
    if value is None:
        return _behaved(call, on_empty, "the path leads to no value")
    if wrapper == "WITH UNCONDITIONAL" or (wrapper == "WITH CONDITIONAL" and not isinstance(value, list)):
        value = [value]
    if not isinstance(value, dict | list):
        if mode == "lax":
            return _behaved(call, on_empty, "the path leads to a scalar value")
        return _behaved(call, on_error, "the path leads to a scalar value, not to an array or object")
    return _as_type(call, value)


def _as_type(call: CallContext, value: Any) -> Any:
    if isinstance(call.type, CharType):
        return write_json(value)
    if not isinstance(value, list):
        return None
    return [None if v is None else v if isinstance(v, str) else write_json(v) for v in value]


def _behaved(call: CallContext, behaviour: str, error: Exception | str) -> Any:
    if behaviour == "ERROR":
        raise _failed("JSON_QUERY", error)
    return {"NULL": None, "EMPTY ARRAY": [] if isinstance(call.type, ArrayType) else "[]", "EMPTY OBJECT": "{}"}[
        behaviour
    ]


# ---------------------------------------------------------------------------------------------- construction


def json_encoder(type_: LogicalType, session: Session, nested: bool = False) -> Callable[[Any], Any]:
    """Returns the function from a Python value to what `write_json` writes."""
    encode = _encoder(type_, session)
    return lambda value: None if value is None else encode(value)


def _encoder(type_: LogicalType, session: Session) -> Callable[[Any], Any]:
    match type_:
        case CharType() | BooleanType() | IntegerType():
            return lambda value: value
        case DecimalType():
            return lambda value: RawJson(str(value))  # with an exponent as in BigDecimal.toString
        case FloatType():
            return lambda value: RawJson(_float_json(double_text(value)))
        case BinaryType():
            return lambda value: base64.b64encode(value).decode()
        case VariantType():
            return RawJson
        case ArrayType():
            element = json_encoder(type_.element, session)
            return lambda values: [element(v) for v in values]
        case MapType() | MultisetType():
            item = json_encoder(type_.value if isinstance(type_, MapType) else INT, session)
            return lambda pairs: {str(k): item(v) for k, v in pairs}
        case RowType():
            fields = [(f.name, json_encoder(f.type, session)) for f in type_.fields]
            return lambda row: {name: encode(v) for (name, encode), v in zip(fields, row, strict=True)}
    return lambda value: _point_text(value, type_, session)


def _float_json(shown: str) -> str:
    """The JSON of a float: a decimal, or a text for NaN and Infinity."""
    return str(decimal.Decimal(shown)) if shown[-1].isdigit() else f'"{shown}"'


def _point_text(value: Any, type_: LogicalType, session: Session) -> str:
    shown = str(to_text(from_values([value], type_), type_, Session(zone="UTC"))[0].as_py())
    if isinstance(type_, TimestampType):
        shown = shown.replace(" ", "T")
        shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
        return f"{shown}Z" if type_.local else shown
    return shown


_SUPPORTED = (CharType, BooleanType, IntegerType, DecimalType, FloatType, BinaryType, VariantType, TimestampType)


def _json_type(type_: LogicalType) -> bool:
    match type_:
        case ArrayType() | MultisetType():
            return _json_type(type_.element)
        case MapType():
            return isinstance(type_.key, CharType) and _json_type(type_.value)
        case RowType():
            return all(_json_type(f.type) for f in type_.fields)
    return isinstance(type_, _SUPPORTED)


def _string_rule(call: Typing) -> LogicalType:
    if len(call) != 1 or not _json_type(call.types[0]):
        call.refuse("a value that has a form in JSON")
    return text(call)


@_family.values("JSON_STRING", _string_rule, "the value as JSON", context=True)
def json_string(call: CallContext, value: Any) -> str:
    return write_json(json_encoder(call.argument_types[0], call.session)(value))


def _built_rule(call: Typing) -> LogicalType:
    """Options: NULL or ABSENT, then for each value whether it is JSON already."""
    for position, type_ in enumerate(call.types):
        if isinstance(type_, NullType):
            call.refuse("a value with a type, such as CAST(NULL AS STRING),", position)
        if not _json_type(type_):
            call.refuse("a value that has a form in JSON", position)
    return STRING.with_nullable(False)


def _encoded(call: CallContext, position: int, value: Any, raw: bool) -> Any:
    if value is None:
        return None
    if not raw:
        return json_encoder(call.argument_types[position], call.session)(value)
    try:
        return RawJson(write_json(read_json(value)))
    except NotJson as error:
        raise _failed("JSON", error) from error


@_family.values("JSON_OBJECT", _built_rule, "an object of keys and values", raises=True, strict=False, context=True)
def json_object(call: CallContext, *values: Any) -> str:
    on_null, *raw = call.options or ("NULL",)
    found = {}
    for index in range(0, len(values), 2):
        if values[index] is None:
            raise _failed("JSON_OBJECT", "a key is NULL")
        if values[index + 1] is None and on_null == "ABSENT":
            continue
        found[values[index]] = _encoded(
            call, index + 1, values[index + 1], index // 2 < len(raw) and bool(raw[index // 2])
        )
    return write_json(found)


@_family.values("JSON_ARRAY", _built_rule, "an array of values", raises=True, strict=False, context=True)
def json_array(call: CallContext, *values: Any) -> str:
    on_null, *raw = call.options or ("ABSENT",)
    items = [
        _encoded(call, i, v, i < len(raw) and bool(raw[i]))
        for i, v in enumerate(values)
        if v is not None or on_null == "NULL"
    ]
    return write_json(items)


@_family.values("JSON", takes("text", returns=text), "a text that JSON_OBJECT and JSON_ARRAY take over as JSON")
def json_text(value: str) -> str:
    return value


@_family.values("JSON_QUOTE", takes("text", returns=text), "the text as a JSON string")
def json_quote(value: str) -> str:
    return json.dumps(value).replace("/", "\\/")


@_family.values("JSON_UNQUOTE", takes("text", returns=text), "the text of a JSON string; other text as it is")
def json_unquote(value: str) -> str:
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return found if isinstance(found, str) else value


def _length_rule(call: Typing) -> LogicalType:
    if not matches("text[, text]")(call):
        call.refuse("(text[, path])")
    return INT


@_family.values("JSON_LENGTH", _length_rule, "how many entries an object or array has; 1 for other values")
def json_length(document: str, path: str = "$") -> int | None:
    try:
        found = compile_path(path).find(read_json(document))
    except NotJson:
        return None
    if not found:
        return None
    return len(found[0]) if isinstance(found[0], dict | list) else 1


@_family.values("JSON_TYPE", takes("text[, text]", returns=text_or_null), "the kind of a JSON value")
def json_type(document: str, path: str = "$") -> str | None:
    try:
        found = compile_path(path).find(read_json(document))
    except NotJson:
        return None
    if not found:
        return None
    value = found[0]
    if isinstance(value, bool):
        return "BOOLEAN"
    kinds = {
        dict: "OBJECT",
        list: "ARRAY",
        str: "STRING",
        int: "INTEGER",
        decimal.Decimal: "DOUBLE",
        type(None): "NULL",
    }
    return kinds[type(value)]


# --------------------------------------------------------------------------------------------------- variants


def _variant_rule(lenient: bool) -> Any:
    def rule(call: Typing) -> LogicalType:
        if not matches("text[, boolean]")(call):
            call.refuse("(text[, boolean])")
        return VariantType(nullable=True if lenient else call.any_nullable)

    return rule


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _canonical(v) for k, v in sorted(value.items())}
    if isinstance(value, list):
        return [_canonical(v) for v in value]
    if isinstance(value, decimal.Decimal):
        return RawJson(_shortest(value))
    return value


def _shortest(value: decimal.Decimal) -> str:
    """The text of a number of a variant: with an exponent it is a double, else a decimal."""
    return double_text(float(value)) if "E" in str(value) else format(value.normalize(), "f")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotJson("a key occurs twice")
    return found


def _variant(value: str, duplicates: bool) -> str:
    if not duplicates:
        try:
            json.JSONDecoder(object_pairs_hook=_no_duplicates).raw_decode(value.lstrip())
        except json.JSONDecodeError as error:
            raise NotJson(str(error)) from error
    return write_json(_canonical(read_json(value)))


@_family.values("PARSE_JSON", _variant_rule(False), "the variant of a JSON text", raises=True)
def parse_json(value: str, duplicates: bool = False) -> str:
    try:
        return _variant(value, duplicates)
    except NotJson as error:
        raise _failed("PARSE_JSON", error) from error


@_family.values("TRY_PARSE_JSON", _variant_rule(True), "the variant of a JSON text; null if it is not JSON")
def try_parse_json(value: str, duplicates: bool = False) -> str | None:
    try:
        return _variant(value, duplicates)
    except NotJson:
        return None


def variant_item(value: str, key: Any) -> str | None:
    """Returns the element of a variant at an index or a key."""
    found = read_json(value)
    if isinstance(found, list) and isinstance(key, int):
        return write_json(found[key - 1]) if 1 <= key <= len(found) else None
    if isinstance(found, dict) and isinstance(key, str):
        return write_json(found[key]) if key in found else None
    return None
