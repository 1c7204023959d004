"""Statements with the verdict of Flink 2.3's parser, if they are there: ../shared/sql/parser_corpus.json beside the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import SqlParseError
from penstock.table.dialect import parse_statement

CORPUS = Path(__file__).parents[4].parent / "shared" / "sql" / "parser_corpus.json"
pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason=f"{CORPUS} is not there")


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[dict[str, Any]]]:
    loaded: dict[str, list[dict[str, Any]]] = json.loads(CORPUS.read_text(encoding="utf-8"))
    return loaded


def _kind(text: str) -> str | None:
    try:
        return parse_statement(text).statement_kind()
    except SqlParseError:
        return None


def test_accepted(corpus: dict[str, list[dict[str, Any]]]) -> None:
    cases = corpus["accepted"]
    missed = [case["sql"] for case in cases if _kind(case["sql"]) != case["kind"]]
    assert len(missed) <= len(cases) * 0.02, missed


def test_refused(corpus: dict[str, list[dict[str, Any]]]) -> None:
    cases = corpus["refused"]
    accepted = [case["sql"] for case in cases if _kind(case["sql"]) is not None]
    assert len(accepted) <= len(cases) * 0.1, accepted
