"""Kinds of option values, written as Flink writes them: `10 s`, `64 mb`, `[a, b]`, `{k: v}`, `EXACTLY_ONCE`.

A kind reads what a program or a command line gave, and writes a value back as text.
"""

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
class Kind:
    """How values of one kind are read and written. `read` raises ValueError or TypeError for what does not fit."""

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
    """Milliseconds of a duration.

    >>> read_duration("10 s"), read_duration(250), read_duration("1 min"), read_duration(timedelta(hours=1))
    (10000, 250, 60000, 3600000)
    """
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, Duration):
        return value.to_millis()
    return _with_unit(value, _MILLIS)


def write_duration(millis: int) -> str:
    """A duration in the largest unit that it is a whole number of.

    >>> write_duration(90_000), write_duration(60_000), write_duration(0)
    ('90 s', '1 min', '0 ms')
    """
    return _in_unit(millis, (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)), "ms")


def read_memory(value: Any) -> int:
    """Bytes of a memory size.

    >>> read_memory("64 mb"), read_memory("1g"), read_memory(512)
    (67108864, 1073741824, 512)
    """
    return _with_unit(value, _BYTES)


def write_memory(size: int) -> str:
    """A size in the largest unit that it is a whole number of.

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


def read_flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).strip().lower() in ("true", "false"):
        return str(value).strip().lower() == "true"
    raise ValueError(value)


def read_whole(value: Any) -> int:
    if isinstance(value, (bool, float)):
        raise ValueError(value)
    return int(value)


def read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def list_of(separator: str) -> Kind:
    """Lists in brackets, or with a separator of Flink's older form.

    >>> list_of(";").read("[a, 'b, c']"), list_of(";").read("a;b"), list_of(",").write(["a", "b"])
    (['a', 'b, c'], ['a', 'b'], '[a, b]')
    """

    def read(value: Any) -> list[str]:
        if isinstance(value, (list, tuple)):
            return [str(v) for v in value]
        text = read_text(value).strip()
        if text.startswith("[") and text.endswith("]"):
            return [_bare(v) for v in split(text[1:-1], ",")]
        return [_bare(v) for v in split(text, separator)]

    return Kind("list", read, lambda v: f"[{', '.join(_quoted(e, ',[]') for e in v)}]", f"a{separator}b")


def read_map(value: Any) -> dict[str, str]:
    """A map in braces, or in Flink's older form.

    >>> read_map("{a: 1, b: 'x, y'}"), read_map("a:1,b:2")
    ({'a': '1', 'b': 'x, y'}, {'a': '1', 'b': '2'})
    """
    if isinstance(value, Mapping):
        return {str(k): str(v) for k, v in value.items()}
    text = read_text(value).strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    found = {}
    for entry in split(text, ","):
        key, colon, inside = entry.partition(":")
        if not colon:
            raise ValueError(value)
        found[_bare(key)] = _bare(inside)
    return found


def write_map(value: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{_quoted(k, ',:{}')}: {_quoted(v, ',{}')}" for k, v in value.items()) + "}"


def split(text: str, separator: str) -> list[str]:
    """The parts between separators that stand outside of quotes."""
    parts, quote, begin = [], "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == separator:
            parts.append(text[begin:at])
            begin = at + 1
    parts.append(text[begin:])
    return [p.strip() for p in parts if p.strip()]


def _bare(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1]
    return text


def _quoted(text: str, special: str) -> str:
    return "'" + text.replace("'", "''") + "'" if any(c in special for c in text) else text


def read_folder(value: Any) -> str:
    """A folder, as a path or as a `file:` address.

    >>> read_folder("file:///data/checkpoints"), read_folder("here")
    ('/data/checkpoints', 'here')
    """
    text = read_text(value)
    address = urlsplit(text)
    if address.scheme == "file":
        return address.path
    if "://" in text:
        raise ValueError(value)
    return text


def read_place(value: Any) -> str:
    """A folder of any file system.

    >>> read_place("file:///data/saved"), read_place("s3://bucket/saved")
    ('/data/saved', 's3://bucket/saved')
    """
    text = read_text(value)
    return text if "://" in text and not text.startswith("file:") else read_folder(text)


def choice(*values: str, **synonyms: str) -> Kind:
    """One of some words, whatever their case; synonyms mean one of them.

    >>> choice("lmdb", "hashmap", rocksdb="lmdb").read("RocksDB")
    'lmdb'
    """
    meant = {v.lower(): v for v in values} | {k.replace("_", "-"): v for k, v in synonyms.items()}

    def read(value: Any) -> str:
        word = value.name if isinstance(value, Enum) else str(value).strip()
        if word.lower().replace("_", "-") in meant:
            return meant[word.lower().replace("_", "-")]
        if word.lower() in meant:
            return meant[word.lower()]
        raise ValueError(value)

    return Kind(" or ".join(values), read)


def whole(least: int, most: int | None = None) -> Kind:
    """Whole numbers within bounds."""

    def read(value: Any) -> int:
        number = read_whole(value)
        if number < least or (most is not None and number > most):
            raise ValueError(value)
        return number

    return Kind(
        f"whole number from {least}" + (f" to {most}" if most is not None else ""), read, str, str(max(least, 4))
    )


def read_fraction(value: Any) -> float:
    """A share of a whole.

    >>> read_fraction("0.2")
    0.2
    """
    fraction = float(value)
    if not 0 < fraction <= 1:
        raise ValueError(f"{value} is not above 0 and at most 1")
    return fraction


TEXT = Kind("text", read_text, str, "some words")
NUMBER = Kind("number", float, str, "1.5")
FRACTION = Kind("number above 0, at most 1", read_fraction, str, "0.2")
FLAG = Kind("true or false", read_flag, lambda v: str(v).lower(), "true")
DURATION = Kind("duration", read_duration, write_duration, "10 s")
MEMORY = Kind("memory size", read_memory, write_memory, "64 mb")
LIST = list_of(";")
COMMAS = list_of(",")
MAP = Kind("map", read_map, write_map, "a:1,b:2")
FOLDER = Kind("folder", read_folder, str, "/data/checkpoints")
PLACE = Kind("folder or address", read_place, str, "s3://bucket/savepoints")
