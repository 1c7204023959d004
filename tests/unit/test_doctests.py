"""The examples in docstrings run and have the documented results."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest

import penstock

NEED_SPARK = ("penstock.spark", "penstock.cli", "penstock.__main__")


def modules() -> list[str]:
    found = [info.name for info in pkgutil.walk_packages(penstock.__path__, "penstock.")]
    return [name for name in found if not name.startswith(NEED_SPARK)]


@pytest.mark.parametrize("name", modules())
def test_examples_of_the_module_hold(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_examples_exist() -> None:
    counts = [doctest.testmod(importlib.import_module(name)).attempted for name in modules()]
    assert sum(counts) > 50
