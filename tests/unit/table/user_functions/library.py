"""Functions for CREATE FUNCTION ... AS 'tests.unit.table.user_functions.library.twice'."""

from __future__ import annotations

from typing import Any

from penstock.table.udf import ScalarFunction, udf, udtf


@udf(result_type="BIGINT")
def twice(x: Any) -> Any:
    return None if x is None else 2 * x


@udf(result_type="STRING")
def exclaimed(text: Any) -> Any:
    return None if text is None else f"{text}!"


@udtf(result_types="ROW<word STRING, place INT>")
def words(text: Any) -> Any:
    for place, word in enumerate(text.split(",") if text else ()):
        yield word, place


def plain(x: Any) -> Any:
    return x


class Prefix(ScalarFunction):
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def eval(self, text: str) -> str:
        return self.prefix + text


prefixed = udf(Prefix(">"), result_type="STRING")
