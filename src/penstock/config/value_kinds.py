"""Types of option values, in Flink's notation: `10 s`, `64 mb`, `[a, b]`, `{k: v}`, `EXACTLY_ONCE`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from penstock.time import Duration


@dataclass(frozen=True, slots=True)
class ValueKind:
    """Parses and formats the values of one type. `read` raises ValueError or TypeError for a wrong value."""

    name: str
    read: Callable[[Any], Any]
    write: Callable[[Any], str] = str
    example: str = ""


_MILLIS = {
    "d": 86_400_000,
    "day": 86_400_000,
    "days": 86_400_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "hours": 3_600_000,
    "m": 60_000,
    "min": 60_000,
    "minute": 60_000,
    "minutes": 60_000,
    "s": 1000,
    "sec": 1000,
    "secs": 1000,
    "second": 1000,
    "seconds": 1000,
    "ms": 1,
    "milli": 1,
    "millis": 1,
    "millisecond": 1,
    "milliseconds": 1,
    "": 1,
}
_BYTES = {"": 1, "b": 1, "bytes": 1}
for _power, _names in enumerate(("k kb kibibytes", "m mb mebibytes", "g gb gibibytes", "t tb tebibytes"), 1):
    _BYTES |= dict.fromkeys(_names.split(), 1024**_power)


def read_duration(value: Any) -> int:
    """Returns a duration in milliseconds.

    >>> read_duration("10 s"), read_duration(250), read_duration("1 min"), read_duration(timedelta(hours=1))
    (10000, 250, 60000, 3600000)
    """
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, Duration):
        return value.to_millis()
    return _with_unit(value, _MILLIS)


def read_duration_or_never(value: Any) -> int:
    """Returns a duration in milliseconds, or -1.

    >>> read_duration_or_never("10 s"), read_duration_or_never(-1), read_duration_or_never("-1 ms")
    (10000, -1, -1)
    """
    return -1 if re.fullmatch(r"\s*-1\s*(ms)?\s*", str(value)) else read_duration(value)


def write_duration(millis: int) -> str:
    """Formats a duration in the largest unit without a fraction.

    >>> write_duration(90_000), write_duration(60_000), write_duration(0)
    ('90 s', '1 min', '0 ms')
    """
    return _in_unit(millis, (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)), "ms")


def read_memory(value: Any) -> int:
    """Returns a memory size in bytes.

    >>> read_memory("64 mb"), read_memory("1g"), read_memory(512)
    (67108864, 1073741824, 512)
    """
    return _with_unit(value, _BYTES)


def write_memory(size: int) -> str:
    """Formats a memory size in the largest unit without a fraction.

    >>> write_memory(64 << 20), write_memory(1000)
    ('64 mb', '1000 bytes')
    """
    return _in_unit(size, (("tb", 1 << 40), ("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10)), "bytes")


def _with_unit(value: Any, units: Mapping[str, int]) -> int:
    found = re.fullmatch(r"\s*(\d+)\s*([a-zA-Z]*)\s*", str(value))
    if found is None or found.group(2).lower() not in units or isinstance(value, bool):
        raise ValueError(value)
    return int(found.group(1)) * units[found.group(2).lower()]


def _in_unit(value: int, units: tuple[tuple[str, int], ...], smallest: str) -> str:
    for name, size in units:
        if value and value % size == 0:
            return f"{value // size} {name}"
    return f"{value} {smallest}"


def read_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).strip().lower() in ("true", "false"):
        return str(value).strip().lower() == "true"
    raise ValueError(value)


def read_integer(value: Any) -> int:
    if isinstance(value, (bool, float)):
        raise ValueError(value)
    return int(value)


def read_string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def list_kind(separator: str) -> ValueKind:
    """Returns the type of lists in brackets, in lines with dashes, or with the separator of Flink's legacy notation.

    >>> list_kind(";").read("[a, 'b, c']"), list_kind(";").read("- a\\n- b"), list_kind(";").read("a;b")
    (['a', 'b, c'], ['a', 'b'], ['a', 'b'])
    >>> list_kind(",").write(["a", "file:///b"])
    "[a, 'file:///b']"
    """

    def read(value: Any) -> list[str]:
        if isinstance(value, (list, tuple)):
            return [str(v) for v in value]
        text = read_string(value).strip()
        if text.startswith("[") and text.endswith("]"):
            return [_unquote(v) for v in split(text[1:-1], ",")]
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines and all(line.startswith("- ") for line in lines):
            return [_unquote(line[2:]) for line in lines]
        return [_unquote(v) for v in split(text, separator)]

    return ValueKind("list", read, lambda v: f"[{', '.join(_quote(e, ',[]{}:?') for e in v)}]", f"a{separator}b")


def read_map(value: Any) -> dict[str, str]:
    """Returns a map in braces, or in Flink's legacy notation.

    >>> read_map("{a: 1, b: 'x, y'}"), read_map("a:1,b:2")
    ({'a': '1', 'b': 'x, y'}, {'a': '1', 'b': '2'})
    """
    if isinstance(value, Mapping):
        return {str(k): str(v) for k, v in value.items()}
    text = read_string(value).strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    found = {}
    for entry in split(text, ","):
        key, colon, item = entry.partition(":")
        if not colon:
            raise ValueError(value)
        found[_unquote(key)] = _unquote(item)
    return found


def write_map(value: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{_quote(k, ',:{}')}: {_quote(v, ',{}')}" for k, v in value.items()) + "}"


def split(text: str, separator: str) -> list[str]:
    """Splits a text at separators that are not inside quotes."""
    parts, quote, begin = [], "", 0
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == separator:
            parts.append(text[begin:index])
            begin = index + 1
    parts.append(text[begin:])
    return [p.strip() for p in parts if p.strip()]


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1]
    return text


def _quote(text: str, special: str) -> str:
    return "'" + text.replace("'", "''") + "'" if any(c in special for c in text) else text


def read_path(value: Any) -> str:
    """Returns a local path. Accepts `file:` URIs.

    >>> read_path("file:///data/checkpoints"), read_path("here")
    ('/data/checkpoints', 'here')
    """
    text = read_string(value)
    uri = urlsplit(text)
    if uri.scheme == "file":
        return uri.path
    if "://" in text:
        raise ValueError(value)
    return text


def read_path_or_uri(value: Any) -> str:
    """Returns a path, or a URI of any file system.

    >>> read_path_or_uri("file:///data/saved"), read_path_or_uri("s3://bucket/saved")
    ('/data/saved', 's3://bucket/saved')
    """
    text = read_string(value)
    return text if "://" in text and not text.startswith("file:") else read_path(text)


def choice(*values: str, **synonyms: str) -> ValueKind:
    """Returns the type of an enumeration. Case is ignored, and each synonym means one of the values.

    >>> choice("lmdb", "hashmap", rocksdb="lmdb").read("RocksDB")
    'lmdb'
    """
    known = {v.lower(): v for v in values} | {k.replace("_", "-"): v for k, v in synonyms.items()}

    def read(value: Any) -> str:
        word = value.name if isinstance(value, Enum) else str(value).strip()
        if word.lower().replace("_", "-") in known:
            return known[word.lower().replace("_", "-")]
        if word.lower() in known:
            return known[word.lower()]
        raise ValueError(value)

    return ValueKind(" or ".join(values), read)


def integer(minimum: int, maximum: int | None = None) -> ValueKind:
    """Returns the type of integers within bounds."""

    def read(value: Any) -> int:
        number = read_integer(value)
        if number < minimum or (maximum is not None and number > maximum):
            raise ValueError(value)
        return number

    return ValueKind(
        f"integer of at least {minimum}" if maximum is None else f"integer from {minimum} to {maximum}",
        read,
        str,
        str(max(minimum, 4)),
    )


def read_fraction(value: Any) -> float:
    """Returns a number that is greater than 0 and at most 1.

    >>> read_fraction("0.2")
    0.2
    """
    fraction = float(value)
    if not 0 < fraction <= 1:
        raise ValueError(f"{value} is not greater than 0 and at most 1")
    return fraction


STRING = ValueKind("string", read_string, str, "some text")
DOUBLE = ValueKind("number", float, str, "1.5")
FRACTION = ValueKind("number greater than 0, at most 1", read_fraction, str, "0.2")
BOOLEAN = ValueKind("boolean", read_boolean, lambda v: str(v).lower(), "true")
DURATION = ValueKind("duration", read_duration, write_duration, "10 s")
DURATION_OR_NEVER = ValueKind("duration or -1", read_duration_or_never, write_duration, "10 s")
MEMORY = ValueKind("memory size", read_memory, write_memory, "64 mb")
LIST = list_kind(";")
COMMA_LIST = list_kind(",")
MAP = ValueKind("map", read_map, write_map, "a:1,b:2")
PATH = ValueKind("path", read_path, str, "/data/checkpoints")
PATH_OR_URI = ValueKind("path or URI", read_path_or_uri, str, "s3://bucket/savepoints")
