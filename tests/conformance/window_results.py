"""Window functions of cases, which are specified by name or as a tuple of parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from penstock.functions import ProcessAllWindowFunction, ProcessWindowFunction, WindowContext
from tests.conformance.case import NotRunnableError

Part = Callable[[Any, Any, list[Any]], Any]  # key, window, elements


def sum_of(a: list[Any], b: list[Any]) -> list[Any]:
    """Reduces two elements to the first key and the sum of the numbers."""
    return [a[0], a[1] + b[1]]


class WindowResult(ProcessWindowFunction[Any, Any, Any, Any]):
    """Emits one result per firing, which consists of parts."""

    def __init__(self, parts: list[Part] | Part) -> None:
        self._parts = parts

    def process(self, key: Any, context: WindowContext[Any], elements: Iterable[Any]) -> Iterable[Any]:
        return made(self._parts, key, context.window(), list(elements))


class AllWindowResult(ProcessAllWindowFunction[Any, Any, Any]):
    """The same for windows of a stream without keys."""

    def __init__(self, parts: list[Part] | Part) -> None:
        self._parts = parts

    def process(self, context: WindowContext[Any], elements: Iterable[Any]) -> Iterable[Any]:
        return made(self._parts, None, context.window(), list(elements))


def made(parts: list[Part] | Part, key: Any, window: Any, elements: list[Any]) -> list[Any]:
    if isinstance(parts, list):
        return [[part(key, window, elements) for part in parts]]
    return [parts(key, window, elements)]


# -- parts


class Sum:
    """The sum of a field. A class, so that it can be pickled."""

    def __init__(self, field: int) -> None:
        self._field = field

    def __call__(self, key: Any, window: Any, elements: list[Any]) -> Any:
        return sum(e[self._field] for e in elements)


def key_of(key: Any, window: Any, elements: list[Any]) -> Any:
    return key


def first_key(key: Any, window: Any, elements: list[Any]) -> Any:
    return elements[0][0]


def last_key(key: Any, window: Any, elements: list[Any]) -> Any:
    return elements[-1][0]


def start(key: Any, window: Any, elements: list[Any]) -> Any:
    return window.start


def end(key: Any, window: Any, elements: list[Any]) -> Any:
    return window.end


def count(key: Any, window: Any, elements: list[Any]) -> Any:
    return len(elements)


def values(key: Any, window: Any, elements: list[Any]) -> Any:
    return [e[1] for e in elements]


def elements_of(key: Any, window: Any, elements: list[Any]) -> Any:
    return elements


def key_and_sum(key: Any, window: Any, elements: list[Any]) -> Any:
    return f"{key}-{sum(e[1] for e in elements)}"


def got(key: Any, window: Any, elements: list[Any]) -> Any:
    return "GOT: " + ",".join(f"({','.join(map(str, e))})" for e in elements)


NAMED: dict[str, list[Part] | Part] = {
    "key_sum": [key_of, Sum(1)],
    "session": [key_and_sum, start, end],
    "key_count": [key_of, count],
    "count": count,
    "sum": Sum(1),
    "list": elements_of,
    "elements": elements_of,
    "values": values,
    "got": got,
}
_WORDS: dict[str, Part] = {
    "key": key_of,
    "first key": first_key,
    "last key": last_key,
    "window start": start,
    "start": start,
    "window end": end,
    "end": end,
    "count": count,
    "number of elements": count,
    "sum": Sum(1),
    "sum of value": Sum(1),
    "sum of values": Sum(1),
    "values": values,
}


def parts_in(words: str) -> list[Part]:
    """Returns the parts of "emit (key, window start, window end, count)" and similar."""
    text = re.search(r"\((.*)\)", words)
    if text is None:
        raise NotRunnableError(f'the function "{words}" is not understood')
    return [_part(word.strip()) for word in text[1].split(",")]


def _part(word: str) -> Part:
    if word in _WORDS:
        return _WORDS[word]
    if field := re.fullmatch(r"sum of (?:the )?(?:field |f)(\d)", word):
        return Sum(int(field[1]))
    raise NotRunnableError(f'the part "{word}" of a result is not understood')
