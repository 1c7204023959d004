"""JSON documents and JSON paths, as the libraries behind Flink's JSON functions read them. Numbers keep their text."""

from __future__ import annotations

import decimal
import functools
import json
import re
from collections.abc import Callable
from typing import Any


class NotJson(ValueError):  # noqa: N818 - callers turn it into an error of the user
    """The text is not a JSON document."""


class NoSuchPath(ValueError):  # noqa: N818 - callers turn it into an error of the user
    """A strict path does not exist in a document."""


class BadPath(ValueError):  # noqa: N818 - callers turn it into an error of the user
    """The text is not a JSON path."""


def _constant(name: str) -> Any:
    raise NotJson(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=decimal.Decimal, parse_constant=_constant)
_BLANKS = " \t\n\r"


def read_json(text: str) -> Any:
    """Parses a document; digits behind a point stay as they are. Text behind the document is ignored, as by Jackson.

    >>> read_json('{"a": 1.50}')
    {'a': Decimal('1.50')}
    """
    start = len(text) - len(text.lstrip(_BLANKS))
    try:
        return _DECODER.raw_decode(text, start)[0]
    except (json.JSONDecodeError, RecursionError) as error:
        raise NotJson(str(error)) from error


def write_json(value: Any) -> str:
    """Returns the text of a value without blanks, the keys of objects in order.

    >>> write_json({"a": [1, decimal.Decimal("2.50"), None, "é"]})
    '{"a":[1,2.50,null,"é"]}'
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(str(k))}:{write_json(v)}" for k, v in sorted(value.items(), key=_key)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(write_json, value)) + "]"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, RawJson):
        return value.text
    return scalar_text(value)


def _key(entry: tuple[Any, Any]) -> str:
    return str(entry[0])


class RawJson:
    """JSON text that is written as it is."""

    def __init__(self, text: str) -> None:
        self.text = text


def quoted(text: str) -> str:
    """Returns a text as a JSON string."""
    return json.dumps(text, ensure_ascii=False)


def scalar_text(value: Any) -> str:
    """Returns the text of a number, boolean, null or string."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, decimal.Decimal):
        return str(value) if "E" in str(value) else format(value, "f")
    return str(value)


# ------------------------------------------------------------------------------------------------------ paths

Step = Callable[[Any], list[Any]]
_NAME = re.compile(r"[^.\[\]()\s]+")
_FILTER = re.compile(r"\?\s*\(\s*@((?:\.\w+|\['[^']*'\])*)\s*(?:(==|!=|<=|>=|<|>|=~)\s*(.+?))?\s*\)")


class JsonPath:
    """A compiled path. A definite path leads to at most one value."""

    def __init__(self, steps: list[tuple[str, Any]], definite: bool, text: str) -> None:
        self.steps = steps
        self.definite = definite
        self.text = text

    def find(self, document: Any) -> list[Any]:
        """Returns the values that the path leads to."""
        found = [document]
        for kind, argument in self.steps:
            found = [value for item in found for value in _step(kind, argument, item)]
        return found


def _step(kind: str, argument: Any, item: Any) -> list[Any]:
    if kind == "name":
        return [item[argument]] if isinstance(item, dict) and argument in item else []
    if kind == "names":
        return [{n: item[n] for n in argument if n in item}] if isinstance(item, dict) else []
    if kind == "index":
        if not isinstance(item, list):
            return []
        return [item[i] for i in argument if -len(item) <= i < len(item)]
    if kind == "slice":
        return item[slice(*argument)] if isinstance(item, list) else []
    if kind == "all":
        return list(item.values()) if isinstance(item, dict) else list(item) if isinstance(item, list) else []
    if kind == "deep":
        return _deep(item)
    if kind == "filter":
        items = item if isinstance(item, list) else [item]
        return [v for v in items if argument(v)]
    assert kind == "length"
    return [len(item)] if isinstance(item, list | dict | str) else []


def _deep(item: Any) -> list[Any]:
    inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return [item] + [value for part in inner for value in _deep(part)]


@functools.lru_cache(maxsize=256)
def compile_path(text: str) -> JsonPath:
    """Compiles a path.

    >>> compile_path("$.a[1].b").find({"a": [0, {"b": 5}]})
    [5]
    """
    if not text.startswith("$"):
        raise BadPath(f"'{text}' does not begin with $")
    steps: list[tuple[str, Any]] = []
    at, definite = 1, True
    while at < len(text):
        if text.startswith("..", at):
            steps.append(("deep", None))
            definite = False
            at += 1
            if text.startswith(".[", at):
                at += 1
            continue
        if text[at] == ".":
            at += 1
            if text.startswith("[", at):
                continue
            if text.startswith("*", at):
                steps.append(("all", None))
                definite, at = False, at + 1
                continue
            match = _NAME.match(text, at)
            if match is None:
                raise BadPath(f"a name was expected at '{text[at:]}' in '{text}'")
            at = match.end()
            if text.startswith("()", at):
                if match[0] not in ("length", "size"):
                    raise BadPath(f"unknown function {match[0]} in '{text}'")
                steps.append(("length", None))
                at += 2
            else:
                steps.append(("name", match[0]))
            continue
        if text[at] == "[":
            end = _closing(text, at)
            inside = text[at + 1 : end].strip()
            step = _bracket(inside, text)
            definite &= step[0] in ("name",) or (step[0] == "index" and len(step[1]) == 1)
            steps.append(step)
            at = end + 1
            continue
        raise BadPath(f"unexpected '{text[at:]}' in '{text}'")
    return JsonPath(steps, definite, text)


def _closing(text: str, at: int) -> int:
    depth, quote = 0, ""
    for index in range(at, len(text)):
        character = text[index]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
            if depth == 0:
                return index
    raise BadPath(f"an open bracket in '{text}'")


def _bracket(inside: str, text: str) -> tuple[str, Any]:
    if inside == "*":
        return ("all", None)
    if re.fullmatch(r"('[^']*'|\"[^\"]*\")", inside):
        return ("name", inside[1:-1])
    if re.fullmatch(r"(('[^']*'|\"[^\"]*\")\s*,?\s*)+", inside):
        return ("names", [m[1:-1] for m in re.findall(r"'[^']*'|\"[^\"]*\"", inside)])
    if re.fullmatch(r"-?\d+(\s*,\s*-?\d+)*", inside):
        return ("index", [int(n) for n in inside.split(",")])
    if re.fullmatch(r"(-?\d+)?:(-?\d+)?", inside):
        start, end = inside.split(":")
        return ("slice", (int(start) if start else None, int(end) if end else None))
    match = _FILTER.fullmatch(inside)
    if match is None:
        raise BadPath(f"'[{inside}]' in '{text}' is not supported")
    return ("filter", _condition(match[1], match[2], match[3]))


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=~": lambda a, b: re.search(str(b).strip("/"), str(a)) is not None,
}


def _condition(path: str, operator: str | None, literal: str | None) -> Callable[[Any], bool]:
    compiled = compile_path(f"${path}")
    if operator is None:
        return lambda item: bool(compiled.find(item))
    assert literal is not None
    wanted: Any = literal[1:-1] if literal[:1] in "'\"" else read_json(literal)

    def test(item: Any) -> bool:
        for value in compiled.find(item):
            try:
                if _COMPARISONS[operator](value, wanted):
                    return True
            except TypeError:  # different kinds do not compare
                continue
        return False

    return test


_MODE = re.compile(r"\s*(strict|lax)\s+(.+)", re.I | re.S)


def split_mode(text: str) -> tuple[str, str]:
    """Returns the mode of a path and the path itself.

    >>> split_mode("lax $.a"), split_mode("$.a")
    (('lax', '$.a'), ('strict', '$.a'))
    """
    match = _MODE.fullmatch(text)
    return (match[1].lower(), match[2].strip()) if match else ("strict", text.strip())


def evaluate(document: str, path: str) -> tuple[str, Any, Exception | None]:
    """Returns the mode, the value (None if there is none in lax mode) and the error, if there is one."""
    mode, text = split_mode(path)
    try:
        compiled = compile_path(text)
    except BadPath as error:
        return mode, None, error
    try:
        found = compiled.find(read_json(document))
    except NotJson as error:
        return mode, None, error
    if not compiled.definite:
        return mode, found, None
    if not found:
        return (mode, None, None) if mode == "lax" else (mode, None, NoSuchPath(f"No results for path: {text}"))
    if found[0] is None:  # a null in the document counts as an error, as in Flink
        return mode, None, NoSuchPath(f"null at path: {text}")
    return mode, found[0], None
