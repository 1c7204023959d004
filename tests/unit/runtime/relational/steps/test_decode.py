"""Long chunks of records are decoded in parts. The result is the same as in one part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.formats.columns.json_decoder import JsonDecoder
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import StepContext
from penstock.runtime.relational.steps import decode
from penstock.runtime.relational.steps.decode import DecodeStep
from penstock.types.logical.kinds import INT, STRING, Field

FIELDS = [Field("a", INT), Field("b", STRING)]


def decoded(elements: list[Any], skip: bool = False) -> tuple[Any, ...]:
    context = StepContext(lambda: np.zeros(0, np.int64), lambda: 0, lambda: np.zeros(0, np.int64))
    result = DecodeStep(JsonDecoder(FIELDS), skip).run(elements, context)
    assert isinstance(result.rows, Changes)
    columns = [column.to_pylist() for column in result.rows.columns]
    origins = None if result.origins is None else result.origins.tolist()
    return columns, origins, [(at, str(error)) for at, error in result.bad]


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("broken", [[], [1], [0, 7, 18, 19]])
@pytest.mark.parametrize("empty", [[], [3, 4, 5, 6]])
def test_parts_are_one_chunk(monkeypatch: pytest.MonkeyPatch, skip: bool, broken: list[int], empty: list[int]) -> None:
    elements: list[Any] = [b'{"a": %d, "b": "x%d"}' % (i, i) for i in range(20)]
    for i in broken:
        elements[i] = b'{"a": "no number"}'
    for i in empty:
        elements[i] = None
    whole = decoded(elements, skip)
    monkeypatch.setattr(decode, "_PART", 4)
    assert decoded(elements, skip) == whole
