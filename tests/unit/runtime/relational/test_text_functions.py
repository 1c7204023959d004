"""Functions of text with a fast path for columns: its results are those of the function of each value."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.runtime.relational.expressions.compiler import Projection
from penstock.runtime.relational.expressions.tree import Call, Column, Literal
from penstock.runtime.relational.functions.patterns import regexp_extract_of
from penstock.runtime.relational.functions.splitting import split_index_of
from penstock.types.logical.kinds import INT, STRING

TEXTS = ["a/b/c", "", None, "/", "é/ü", "a//b", "no separator", "a/b/c/d/e", "&x=1&y=2", "x=ß"]


def _results(function: str, texts: list[str | None], *arguments: Any) -> list[Any]:
    literals = tuple(Literal(a, STRING if isinstance(a, str) else INT) for a in arguments)
    call = Call(function, (Column(0, STRING), *literals), STRING)
    [found] = Projection([call])([pa.array(texts, pa.string())], len(texts))
    values: list[Any] = found.to_pylist()
    return values


@pytest.mark.parametrize("times", [1, 20])  # with many equal texts, each is computed once
@pytest.mark.parametrize("separator", ["/", "//", "", "é"])
@pytest.mark.parametrize("index", [-1, 0, 1, 2, 9])
def test_split_index(separator: str, index: int, times: int) -> None:
    texts = TEXTS * times
    expected = [None if t is None else split_index_of(t, separator, index) for t in texts]
    assert _results("SPLIT_INDEX", texts, separator, index) == expected


@pytest.mark.parametrize("times", [1, 20])
@pytest.mark.parametrize("group", [-1, 0, 1, 2, 3])
@pytest.mark.parametrize("pattern", ["(&|^)x=([^&]*)", "(a)?(b)", "("])
def test_regexp_extract(pattern: str, group: int, times: int) -> None:
    texts = TEXTS * times
    expected = [None if t is None else regexp_extract_of(t, pattern, group) for t in texts]
    assert _results("REGEXP_EXTRACT", texts, pattern, group) == expected


@pytest.mark.parametrize("texts", [["Abc", None, "Z"], ["Straße", "ABC", None], [], [None]])
def test_upper_and_lower(texts: list[str | None]) -> None:
    assert _results("UPPER", texts) == [None if t is None else t.upper() for t in texts]
    assert _results("LOWER", texts) == [None if t is None else t.lower() for t in texts]
