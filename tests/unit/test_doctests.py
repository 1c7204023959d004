"""The examples in docstrings run and have the documented results."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

import penstock

NEED_SPARK = ("penstock.spark", "penstock.cli", "penstock.__main__")
SOURCE = Path(penstock.__path__[0])
MODULES = [
    info.name for info in pkgutil.walk_packages(penstock.__path__, "penstock.") if not info.name.startswith(NEED_SPARK)
]


def has_examples(name: str) -> bool:
    """Returns whether the text of a module contains an example. To search all its docstrings takes 30 ms."""
    path = SOURCE.joinpath(*name.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ">>> " in file.read_text(encoding="utf-8")


WITH_EXAMPLES = [name for name in MODULES if has_examples(name)]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_the_module_hold(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_every_module_can_be_imported() -> None:
    for name in MODULES:
        importlib.import_module(name)


def test_examples_exist() -> None:
    assert len(WITH_EXAMPLES) > 50
