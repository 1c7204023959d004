"""Every public source and sink is in the table of guarantees."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from penstock.connectors import Sink, Source

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "sources-and-sinks.md"
MODULES = ["penstock.connectors", "penstock.connectors.kafka", "penstock.connectors.redis"]


def connectors(module: str) -> list[type]:
    found = importlib.import_module(module)
    kinds = [kind for name in found.__all__ if isinstance(kind := getattr(found, name), type)]
    return [kind for kind in kinds if issubclass(kind, (Source, Sink)) and kind not in (Source, Sink)]


def names_of(kind: type) -> list[str]:
    """Its own, or that of a connector whose promise it shares."""
    return [f"`{base.__name__}`" for base in kind.__mro__]


@pytest.mark.parametrize("module", MODULES)
def test_every_connector_is_in_the_table(module: str) -> None:
    table = PAGE.read_text().partition("## At a glance")[2].partition("\n## ")[0]
    kinds = connectors(module)
    assert kinds
    assert [kind for kind in kinds if not any(name in table for name in names_of(kind))] == []
