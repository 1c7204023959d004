"""LIKE, SIMILAR TO and regular expressions."""

from __future__ import annotations

import functools
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.errors import bad_argument
from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.functions.definition import CallContext
from penstock.runtime.relational.functions.kernels import Family, by_value, over_distinct
from penstock.runtime.relational.functions.signatures import always_nullable, boolean, takes, text, text_or_null
from penstock.runtime.relational.java.regex import compile_regex
from penstock.types.logical.kinds import INT, STRING, ArrayType

_family = Family("patterns")


@functools.lru_cache(maxsize=512)
def like_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    """Returns the regular expression of a LIKE pattern."""
    if escape is not None and len(escape) != 1:
        raise bad_argument("LIKE", f"the escape character '{escape}' must be a single character")
    result, at = [], 0
    while at < len(pattern):
        character = pattern[at]
        if character == escape:
            if at + 1 == len(pattern) or pattern[at + 1] not in ("_", "%", escape):
                raise bad_argument("LIKE", f"the escape character in '{pattern}' must come before _, % or itself")
            result.append(re.escape(pattern[at + 1]))
            at += 2
            continue
        result.append("." if character == "_" else ".*" if character == "%" else re.escape(character))
        at += 1
    return re.compile("".join(result), re.S)


@_family.columns(
    "LIKE", takes("text, text[, text]", returns=boolean), "the text fits a pattern with % and _", raises=True
)
def like(call: CallContext, value: Value, pattern: Value, escape: Value | None = None) -> Value:
    plain = isinstance(pattern, pa.Scalar) and pattern.is_valid and escape is None and "\\" not in pattern.as_py()
    if plain and isinstance(value, pa.Array):
        return pc.match_like(value, pattern.as_py())
    arguments = (value, pattern) if escape is None else (value, pattern, escape)
    return by_value(lambda v, p, e=None: like_pattern(p, e).fullmatch(v) is not None, strict=True)(call, *arguments)


_REGULAR = {
    "[:ALPHA:]": r"a-zA-Z",
    "[:alpha:]": r"a-zA-Z",
    "[:UPPER:]": "A-Z",
    "[:upper:]": "A-Z",
    "[:LOWER:]": "a-z",
    "[:lower:]": "a-z",
    "[:DIGIT:]": r"\d",
    "[:digit:]": r"\d",
    "[:SPACE:]": " ",
    "[:space:]": " ",
    "[:WHITESPACE:]": r"\s",
    "[:whitespace:]": r"\s",
    "[:ALNUM:]": "a-zA-Z0-9",
    "[:alnum:]": "a-zA-Z0-9",
}


@functools.lru_cache(maxsize=512)
def similar_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    """Returns the regular expression of a SIMILAR TO pattern."""
    result, at, inside = [], 0, False
    while at < len(pattern):
        character = pattern[at]
        if character == escape and at + 1 < len(pattern):
            result.append(re.escape(pattern[at + 1]))
            at += 2
            continue
        named = next((n for n in _REGULAR if pattern.startswith(n, at)), None) if character == "[" and inside else None
        if named is not None:
            result.append(_REGULAR[named])
            at += len(named)
            continue
        if character in "[]":
            inside = character == "["
            result.append(character)
        elif inside:
            result.append(character)
        elif character == "%":
            result.append(".*")
        elif character == "_":
            result.append(".")
        else:
            result.append(character if character in "|*+?{}().^" else re.escape(character))
        at += 1
    try:
        return re.compile("".join(result), re.S)
    except re.error as error:
        raise bad_argument("SIMILAR TO", f"'{pattern}' is not a valid pattern: {error}") from error


@_family.columns(
    "SIMILAR",
    takes("text, text[, text]", returns=boolean),
    "the text fits a pattern of SQL's regular expressions",
    raises=True,
)
def similar(call: CallContext, value: Value, pattern: Value, escape: Value | None = None) -> Value:
    arguments = (value, pattern) if escape is None else (value, pattern, escape)
    return by_value(lambda v, p, e=None: similar_pattern(p, e).fullmatch(v) is not None, strict=True)(call, *arguments)


@_family.values("REGEXP", takes("text, text", returns=boolean), "a part of the text fits a regular expression")
def regexp(value: str, pattern: str) -> bool:
    if pattern == "":
        return False
    compiled = compile_regex(pattern)
    return compiled is not None and compiled.search(value) is not None


@_family.values(
    "REGEXP_REPLACE",
    takes("text, text, text", returns=text),
    "the text with the matches of a regular expression replaced",
)
def regexp_replace(value: str, pattern: str, replacement: str) -> str | None:
    compiled = compile_regex(pattern)
    return None if compiled is None else compiled.sub(lambda match: replacement, value)


@_family.columns(
    "REGEXP_EXTRACT",
    takes("text, text[, int]", returns=text_or_null),
    "a group of the first match, null if there is none",
)
def regexp_extract(call: CallContext, value: Value, pattern: Value, group: Value | None = None) -> Value:
    rest = (pattern,) if group is None else (pattern, group)
    if isinstance(value, pa.Array) and all(isinstance(v, pa.Scalar) and v.is_valid for v in rest):
        number = 0 if group is None else group.as_py()
        compiled = compile_regex(pattern.as_py())
        if compiled is None or not 0 <= number <= compiled.groups:
            return pa.nulls(len(value), pa.string())
        return over_distinct(value, lambda texts: _groups(texts, compiled, number))
    return by_value(regexp_extract_of, strict=True)(call, value, *rest)


def _groups(texts: pa.Array, compiled: Any, number: int) -> pa.Array:
    search = compiled.search
    found = [None if text is None or (match := search(text)) is None else match[number] for text in texts.to_pylist()]
    return pa.array(found, pa.string())


def regexp_extract_of(value: str, pattern: str, group: int = 0) -> str | None:
    """
    >>> regexp_extract_of("a=1&b=2", "(&|^)b=([^&]*)", 2)
    '2'
    """
    compiled = compile_regex(pattern)
    if compiled is None or group < 0 or group > compiled.groups:
        return None
    match = compiled.search(value)
    return None if match is None else match.group(group)


@_family.values(
    "REGEXP_EXTRACT_ALL",
    takes("text, text[, int]", returns=always_nullable(ArrayType(STRING))),
    "a group of all matches; the first one by default",
)
def regexp_extract_all(value: str, pattern: str, group: int = 1) -> list[str | None] | None:
    compiled = compile_regex(pattern)
    if compiled is None or group < 0 or group > compiled.groups:
        return None
    return [match.group(group) for match in compiled.finditer(value)]


@_family.values("REGEXP_COUNT", takes("text, text", returns=always_nullable(INT)), "how many matches there are")
def regexp_count(value: str, pattern: str) -> int | None:
    compiled = compile_regex(pattern)
    return None if compiled is None else sum(1 for _ in compiled.finditer(value))


@_family.values(
    "REGEXP_INSTR",
    takes("text, text", returns=always_nullable(INT)),
    "where the first match begins, 0 if there is none",
)
def regexp_instr(value: str, pattern: str) -> int | None:
    compiled = compile_regex(pattern)
    if compiled is None:
        return None
    match = compiled.search(value)
    return 0 if match is None else len(value[: match.start()].encode("utf-16-le")) // 2 + 1  # UTF-16 units, as in Java


@_family.values("REGEXP_SUBSTR", takes("text, text", returns=text_or_null), "the first match")
def regexp_substr(value: str, pattern: str) -> str | None:
    compiled = compile_regex(pattern)
    match = None if compiled is None else compiled.search(value)
    return None if match is None else match.group()
