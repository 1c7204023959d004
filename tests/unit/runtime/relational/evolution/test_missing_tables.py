"""Saved tables that a changed operator does not have any more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.runtime.relational.evolution.comparison import missing_tables

JOIN: Any = SimpleNamespace(kind="join")


def test_tables_of_the_operator() -> None:
    assert missing_tables(JOIN, ["left rows", "right ends", "left index"], ["left index"]) == ["left rows"]


def test_timers_belong_to_the_host() -> None:
    assert missing_tables(JOIN, ["__processing_timers__", "__event_timers__"], []) == []
