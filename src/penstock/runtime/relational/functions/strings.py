"""Functions of text. Positions count from 1, in characters."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.errors import bad_argument
from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.functions.definition import CallContext, Typing
from penstock.runtime.relational.functions.kernels import Family, by_value
from penstock.runtime.relational.functions.signatures import (
    boolean,
    first_varying,
    first_varying_nullable,
    integer,
    like_first,
    takes,
    text,
    text_or_null,
)
from penstock.runtime.relational.java.formatter import format_text
from penstock.types.logical.common import common_type
from penstock.types.logical.kinds import (
    MAX_LENGTH,
    STRING,
    BinaryType,
    CharType,
    LogicalType,
)

_family = Family("string")


def _concatenated(call: Typing) -> LogicalType:
    a, b = call.types
    nullable = a.nullable or b.nullable
    if not isinstance(a, CharType) or not isinstance(b, CharType):
        call.refuse("<CHARACTER> || <CHARACTER>")
    length = min(a.length + b.length, MAX_LENGTH)
    return CharType(length, varying=a.varying or b.varying, nullable=nullable)


@_family.columns("||", _concatenated, "two texts together")
def concatenate(call: CallContext, a: Value, b: Value) -> Value:
    return pc.binary_join_element_wise(a, b, "")


@_family.columns("CONCAT", takes("text ...", returns=text), "texts together, null if one of them is null")
def concat(call: CallContext, *parts: Value) -> Value:
    return pc.binary_join_element_wise(*parts, "")


@_family.columns("CONCAT_WS", takes("text ...", returns=text), "texts together with a separator; nulls are left out")
def concat_ws(call: CallContext, separator: Value, *parts: Value) -> Value:
    if not parts:
        return pc.if_else(pc.is_valid(separator), "", pa.scalar(None, pa.string()))
    if any(part.null_count if isinstance(part, pa.Array) else not part.is_valid for part in parts):
        join = by_value(lambda s, *v: None if s is None else s.join(x for x in v if x is not None), strict=False)
        return join(call, separator, *parts)
    return pc.binary_join_element_wise(*parts, separator)


@_family.columns("CHAR_LENGTH CHARACTER_LENGTH", takes("text", returns=integer), "the number of characters")
def char_length(call: CallContext, a: Value) -> Value:
    return pc.utf8_length(a)


def _cased(call: CallContext, text: str) -> str:
    """A text of fixed length keeps it, although some characters become two."""
    type_ = call.type
    return text if not isinstance(type_, CharType) or type_.varying else text[: type_.length]


def _by_case(call: CallContext, value: Value, kernel: Any, python: Callable[[str], str]) -> Value:
    """Changes the case of text: by a kernel if it is ASCII, because kernels change other characters one by one, unlike Java."""
    if isinstance(value, pa.Array) and pc.all(pc.string_is_ascii(value), min_count=0).as_py() is not False:
        return kernel(value)
    return by_value(lambda text: _cased(call, python(text)), strict=True)(call, value)


@_family.columns("UPPER", takes("text", returns=like_first), "the text in upper case")
def upper(call: CallContext, value: Value) -> Value:
    return _by_case(call, value, pc.ascii_upper, str.upper)


@_family.columns("LOWER", takes("text", returns=like_first), "the text in lower case")
def lower(call: CallContext, value: Value) -> Value:
    return _by_case(call, value, pc.ascii_lower, str.lower)


@_family.values("INITCAP", takes("text", returns=like_first), "each word with a capital first letter")
def initcap(value: str) -> str:
    result, inside = [], False
    for character in value:
        if character.isascii() and character.isalnum():
            result.append(character.lower() if inside else character.upper())
            inside = True
        else:
            result.append(character)
            inside = False
    return "".join(result)


@_family.values(
    "POSITION", takes("text, text[, int]", returns=integer), "where the first text begins in the second, 0 if nowhere"
)
def position(part: str, value: str, start: int = 1) -> int:
    return value.find(part, max(start - 1, 0)) + 1 if start > 0 else 0


@_family.values(
    "LOCATE",
    takes("text, text[, int]", returns=integer),
    "where the first text begins in the second, from a position on",
)
def locate(part: str, value: str, start: int = 1) -> int:
    return value.find(part, max(start - 1, 0)) + 1


@_family.values(
    "INSTR",
    takes("text, text[, int[, int]]", returns=integer),
    "where the n-th occurrence of the second text begins in the first",
    raises=True,
)
def instr(value: str, part: str, start: int = 1, occurrence: int = 1) -> int | None:
    if occurrence <= 0:
        raise bad_argument("INSTR", f"the occurrence {occurrence} must be positive")
    if start == 0:
        return 0
    if start > 0:
        found = start - 2
        for _ in range(occurrence):
            found = value.find(part, found + 1)
            if found < 0:
                return 0
        return found + 1
    end, found = len(value) + start + len(part), -1
    for _ in range(occurrence):
        found = value.rfind(part, 0, end)
        if found < 0:
            return 0
        end = found + len(part) - 1
    return found + 1


def _trimmed(call: Typing) -> LogicalType:
    return first_varying(call)


@_family.columns("TRIM", takes("text[, text]", returns=_trimmed), "the text without certain characters at its ends")
def trim(call: CallContext, value: Value, characters: Value | None = None) -> Value:
    side = str(call.options[0]) if call.options else "BOTH"
    return _trim(call, value, characters, side)


def _trim(call: CallContext, value: Value, characters: Value | None, side: str) -> Value:
    kernel = {"BOTH": pc.utf8_trim, "LEADING": pc.utf8_ltrim, "TRAILING": pc.utf8_rtrim}[side]
    if characters is None:
        return kernel(value, " ")
    if isinstance(characters, pa.Scalar) and characters.is_valid and isinstance(value, pa.Array):
        return kernel(value, characters.as_py())
    python = {"BOTH": str.strip, "LEADING": str.lstrip, "TRAILING": str.rstrip}[side]
    return by_value(lambda a, b: python(a, b) if b else a, strict=True)(call, value, characters)


@_family.columns("LTRIM", takes("text[, text]", returns=first_varying), "the text without certain characters in front")
def ltrim(call: CallContext, value: Value, characters: Value | None = None) -> Value:
    return _trim(call, value, characters, "LEADING")


@_family.columns(
    "RTRIM", takes("text[, text]", returns=first_varying), "the text without certain characters at the end"
)
def rtrim(call: CallContext, value: Value, characters: Value | None = None) -> Value:
    return _trim(call, value, characters, "TRAILING")


@_family.columns("BTRIM", takes("text[, text]", returns=text), "the text without certain characters at both ends")
def btrim(call: CallContext, value: Value, characters: Value | None = None) -> Value:
    return _trim(call, value, characters, "BOTH")


@_family.values("REPEAT", takes("text, int", returns=text), "the text several times")
def repeat(value: str, count: int) -> str:
    return value * count


@_family.values(
    "OVERLAY",
    takes("text, text, int[, int]", returns=lambda call: _overlaid(call)),
    "a text that replaces a part of another",
)
def overlay(value: str, replacement: str, start: int, length: int | None = None) -> str:
    if start <= 0 or start > len(value):
        return value
    count = len(replacement) if length is None else length
    if start + count > len(value) or count <= 0:
        return value[: start - 1] + replacement
    return value[: start - 1] + replacement + value[start - 1 + count :]


def _overlaid(call: Typing) -> LogicalType:
    a, b = call.types[:2]
    assert isinstance(a, CharType)
    assert isinstance(b, CharType)
    return CharType(min(a.length + b.length, MAX_LENGTH), varying=True, nullable=call.any_nullable)


@_family.columns(
    "STARTSWITH", takes("text, text", "binary, binary", returns=boolean), "the first value begins with the second"
)
def startswith(call: CallContext, value: Value, start: Value) -> Value:
    if isinstance(start, pa.Scalar) and start.is_valid:
        return pc.starts_with(value, start.as_py())
    return by_value(lambda a, b: a.startswith(b), strict=True)(call, value, start)


@_family.columns(
    "ENDSWITH", takes("text, text", "binary, binary", returns=boolean), "the first value ends with the second"
)
def endswith(call: CallContext, value: Value, end: Value) -> Value:
    if isinstance(end, pa.Scalar) and end.is_valid:
        return pc.ends_with(value, end.as_py())
    return by_value(lambda a, b: a.endswith(b), strict=True)(call, value, end)


@_family.columns("SUBSTRING SUBSTR", takes("text, int[, int]", returns=first_varying_nullable), "a part of a text")
def substring(call: CallContext, value: Value, start: Value, length: Value | None = None) -> Value:
    if isinstance(start, pa.Scalar) and start.is_valid and start.as_py() >= 0 and isinstance(value, pa.Array):
        first = max(start.as_py() - 1, 0)
        if length is None:
            return pc.utf8_slice_codeunits(value, first)
        if isinstance(length, pa.Scalar) and length.is_valid and length.as_py() > 0:
            return pc.utf8_slice_codeunits(value, first, first + length.as_py())
    arguments = (value, start) if length is None else (value, start, length)
    return by_value(substring_of, strict=True)(call, *arguments)


def substring_of(value: str, start: int, length: int | None = None) -> str | None:
    """
    >>> substring_of("hello", -3, 2), substring_of("hello", 0, 2), substring_of("hello", 2, -1)
    ('ll', 'he', None)
    """
    if length is not None and length < 0:
        return None
    first = len(value) + start if start < 0 else max(start - 1, 0)
    if first < 0:
        return ""
    return value[first:] if length is None else value[first : first + length]


@_family.values("LEFT", takes("text, int", returns=first_varying_nullable), "the first characters")
def left(value: str, count: int) -> str:
    return value[: max(count, 0)]


@_family.values("RIGHT", takes("text, int", returns=first_varying_nullable), "the last characters")
def right(value: str, count: int) -> str:
    return value[-count:] if count > 0 else ""


@_family.columns("REPLACE", takes("text, text, text", returns=text), "the text with all occurrences of a part replaced")
def replace(call: CallContext, value: Value, old: Value, new: Value) -> Value:
    constant = (
        isinstance(old, pa.Scalar) and old.is_valid and old.as_py() and isinstance(new, pa.Scalar) and new.is_valid
    )
    if constant and isinstance(value, pa.Array):
        return pc.replace_substring(value, old.as_py(), new.as_py())
    return by_value(lambda a, b, c: a.replace(b, c), strict=True)(call, value, old, new)


@_family.values(
    "TRANSLATE TRANSLATE3",
    takes("text, text, text", returns=lambda call: STRING.with_nullable(call.types[0].nullable)),
    "the text with single characters replaced",
    strict=False,
)
def translate(value: str | None, old: str | None, new: str | None) -> str | None:
    if value is None or old is None:
        return value
    new = new or ""
    table: dict[int, str | None] = {}
    for index, character in enumerate(old):
        table.setdefault(ord(character), new[index] if index < len(new) else None)
    return value.translate(table)


def _padded(value: str, length: int, pad: str, left_side: bool) -> str | None:
    if length < 0 or pad == "":
        return None
    if not (value.isascii() and pad.isascii()):
        return _padded_units(value, length, pad, left_side)
    fill = (pad * length)[: max(0, length - len(value))]
    return (fill + value if left_side else value + fill) if fill else value[:length]


def _padded_units(value: str, length: int, pad: str, left_side: bool) -> str:
    """Pads to a number of UTF-16 units. Half of a character becomes ?, as in Java."""
    text, filler = value.encode("utf-16-le"), pad.encode("utf-16-le")
    fill = (filler * length)[: max(0, 2 * length - len(text))]
    found = (fill + text if left_side else text + fill) if fill else text[: 2 * length]
    return found.decode("utf-16-le", "surrogatepass").encode("utf-8", "replace").decode("utf-8")


@_family.values("LPAD", takes("text, int, text", returns=text), "the text filled up in front to a length")
def lpad(value: str, length: int, pad: str) -> str | None:
    return _padded(value, length, pad, left_side=True)


@_family.values("RPAD", takes("text, int, text", returns=text), "the text filled up at the end to a length")
def rpad(value: str, length: int, pad: str) -> str | None:
    return _padded(value, length, pad, left_side=False)


@_family.values("REVERSE", takes("text", returns=text_or_null), "the characters in reverse order")
def reverse(value: str) -> str:
    return value[::-1]


@_family.values("ASCII", takes("text", returns=integer), "the number of the first byte")
def ascii_of(value: str) -> int:
    if not value:
        return 0
    first = value.encode()[0]
    return first - 256 if first > 127 else first


@_family.values("CHR", takes("int", returns=text_or_null), "the character with a number, modulo 256")
def character_of(value: int) -> str:
    return "" if value < 0 else chr(value & 0xFF)


def _chosen(call: Typing) -> LogicalType:
    if len(call) < 2:
        call.refuse("ELT(index, value, ...)")
    found = common_type(call.types[1:])
    if found is None or not isinstance(found, CharType | BinaryType):
        call.refuse("(int, text ...) or (int, binary ...)")
    if isinstance(call.literals[0], int) and call.literals[0] < 0:
        call.refuse("an index that is not negative", 0)
    return found.with_nullable(True)


@_family.values("ELT", _chosen, "the value at an index", strict=False)
def elt(index: int | None, *values: Any) -> Any:
    return values[index - 1] if index is not None and 1 <= index <= len(values) else None


@_family.values(
    "PRINTF",
    takes("text[, any]", "text, any ...", returns=text_or_null),
    "a text formatted as by printf of Java",
    strict=False,
    context=True,
)
def printf(call: CallContext, pattern: str | None, *values: Any) -> str | None:
    return None if pattern is None else format_text(pattern, values, call.argument_types[1:])


@_family.columns(
    "UUID", lambda call: CharType(36, varying=False, nullable=False), "a random identifier", deterministic=False
)
def random_uuid(call: CallContext) -> Value:
    return pa.array([str(uuid.uuid4()) for _ in range(call.length)], pa.string())
