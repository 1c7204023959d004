"""Calls of functions by name, and functions of numbers and text that belong to no single value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.catalog.object_path import parse_path
from penstock.table.dialect import nodes, parse_expression
from penstock.table.expressions.base import call_text, node_of
from penstock.table.expressions.expression import Expression
from penstock.table.expressions.function import function

if TYPE_CHECKING:
    from penstock.table.user_functions.function import UserDefinedFunctionWrapper


def call(f: str | UserDefinedFunctionWrapper, *args: object) -> Expression[Any]:
    """Calls a function of the system or of a catalog by its name, or a Python function.

    >>> call("UPPER", "a")
    UPPER('a')
    """
    arguments = [node_of(a) for a in args]
    if not isinstance(f, str):
        return Expression(nodes.PythonCall(this=f, expressions=arguments), call_text(f.name, *args))
    *path, name = [f] if f.isidentifier() else parse_path(f)
    node = nodes.Call(this=_SQL_NAMES.get(name, name), expressions=arguments)
    if path:
        node.set("path", path)
    return Expression(node, call_text(f, *args))


# Names of functions in Flink's Table API that differ from those in SQL.
_SQL_NAMES = {
    "charLength": "CHAR_LENGTH",
    "convertTz": "CONVERT_TZ",
    "dateFormat": "DATE_FORMAT",
    "fromBase64": "FROM_BASE64",
    "fromUnixtime": "FROM_UNIXTIME",
    "initCap": "INITCAP",
    "lowerCase": "LOWER",
    "parseUrl": "PARSE_URL",
    "randInteger": "RAND_INTEGER",
    "splitIndex": "SPLIT_INDEX",
    "stddevPop": "STDDEV_POP",
    "stddevSamp": "STDDEV_SAMP",
    "strToMap": "STR_TO_MAP",
    "toBase64": "TO_BASE64",
    "toDate": "TO_DATE",
    "toTimestamp": "TO_TIMESTAMP",
    "unixTimestamp": "UNIX_TIMESTAMP",
    "upperCase": "UPPER",
    "varPop": "VAR_POP",
    "varSamp": "VAR_SAMP",
}


def call_sql(sql_expression: str) -> Expression[Any]:
    """Returns an expression that is written in SQL.

    >>> call_sql("UPPER(name) || '!'")
    [UPPER(name) || '!']
    """
    return Expression(parse_expression(sql_expression), f"[{sql_expression}]")


def lag(expr: object, offset: object = 1, default: object = None) -> Expression[Any]:
    """Returns the value of an earlier row of the window. Use it with `over`."""
    return _neighbour("LAG", "lag", expr, offset, default)


def lead(expr: object, offset: object = 1, default: object = None) -> Expression[Any]:
    """Returns the value of a later row of the window. Use it with `over`."""
    return _neighbour("LEAD", "lead", expr, offset, default)


def _neighbour(name: str, text: str, expr: object, offset: object, default: object) -> Expression[Any]:
    return function(name, text, expr, offset, *([] if default is None else [default]))


def current_database() -> Expression[str]:
    """Returns the name of the current database."""
    return function("CURRENT_DATABASE", "currentDatabase")


def pi() -> Expression[float]:
    """Returns the number pi."""
    return function("PI", "pi")


def e() -> Expression[float]:
    """Returns Euler's number."""
    return function("E", "e")


def rand(seed: object = None) -> Expression[float]:
    """Returns a random number from 0 to 1."""
    return function("RAND", "rand") if seed is None else function("RAND", "rand", seed)


def rand_integer(bound: object, seed: object = None) -> Expression[int]:
    """Returns a random integer from 0 to below a bound."""
    arguments = [bound] if seed is None else [seed, bound]
    return function("RAND_INTEGER", "randInteger", *arguments)


def atan2(y: object, x: object) -> Expression[float]:
    """Returns the arc tangent of a coordinate."""
    return function("ATAN2", "atan2", y, x)


def negative(v: object) -> Expression[Any]:
    """Returns the number with the other sign."""
    return -Expression(node_of(v), call_text("", v)[1:-1])


def concat(first: object, *others: object) -> Expression[str]:
    """Returns all texts as one."""
    return function("CONCAT", "concat", first, *others)


def concat_ws(separator: object, first: object, *others: object) -> Expression[str]:
    """Returns all texts that are not NULL as one, with a separator between them."""
    return function("CONCAT_WS", "concat_ws", separator, first, *others)


def uuid() -> Expression[str]:
    """Returns a random identifier."""
    return function("UUID", "uuid")


def log(v: object, base: object = None) -> Expression[float]:
    """Returns the logarithm to a base, or the natural logarithm."""
    return function("LOG", "log", v) if base is None else function("LOG", "log", base, v)
