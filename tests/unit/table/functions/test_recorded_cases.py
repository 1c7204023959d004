"""Expressions with the types and values of real Flink, recorded by `scripts/flink_oracle.py`."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.runtime.relational.expressions.frame import Session
from penstock.types.logical.text import summary
from tests.unit.table.functions.evaluation import ONE_ROW, Rows, evaluate, same, shown, values_of_query

FOLDER = Path(__file__).parent / "cases"
FILES = sorted(p for p in FOLDER.glob("*.json") if p.name != "known_differences.json")
KNOWN: dict[str, str] = json.loads((FOLDER / "known_differences.json").read_text(encoding="utf-8"))


def answer(case: dict[str, Any], rows: Rows, session: Session) -> tuple[str, str | None]:
    type_, (value,) = evaluate(case["expr"], rows, session)
    if value is None and not type_.nullable:
        raise PenstockError("NULL_VALUE", "null in a column that is NOT NULL")  # a sink of Flink refuses it, too
    return summary(type_), shown(value, type_, session)


def problem(case: dict[str, Any], rows: Rows) -> str | None:
    session = Session(zone=case.get("zone", "UTC"))
    try:
        type_, value = answer(case, rows, session)
    except PenstockError as error:
        return None if case["error"] else f"refused: {error}"
    if case["error"]:
        return f"must be refused ({case['message'][:80]}), found {type_} {value!r}"
    if type_ != case["type"]:
        return f"type {type_}, expected {case['type']}"
    return None if same(case["value"], value, case["type"]) else f"value {value!r}, expected {case['value']!r}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_types_and_values_agree_with_flink(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))

    @functools.cache
    def rows(table: str | None, zone: str) -> Rows:
        return ONE_ROW if table is None else values_of_query(data["tables"][table], Session(zone=zone))

    found = {}
    for case in data["cases"]:
        wrong = problem(case, rows(case.get("table"), case.get("zone", "UTC")))
        if wrong is not None:
            found[f"{path.stem}/{case['id']}"] = f"{case['expr']}: {wrong}"
    unexpected = {name: text for name, text in found.items() if name not in KNOWN}
    assert not unexpected, "\n".join(f"{name}: {text}" for name, text in unexpected.items())
    fixed = {name for name in KNOWN if name.startswith(f"{path.stem}/")} - set(found)
    assert not fixed, f"no differences any more, remove them from known_differences.json: {sorted(fixed)}"
