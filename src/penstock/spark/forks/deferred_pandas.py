"""Keeps pyarrow from importing pandas in Spark's Python processes before a function needs it.

pyarrow imports pandas when the first array is created, in order to recognise its objects. pandas takes half a second and more than
a third of the memory of a worker, and Penstock's own code does not use it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pyarrow as pa

_NAME = "pandas"


def defer_pandas() -> None:
    """From now on only `import pandas` imports pandas. pyarrow recognises its objects from then on."""
    if _NAME in sys.modules or not hasattr(pa.lib, "_pandas_api"):
        return
    refusal = _Refusal()
    sys.meta_path.insert(0, refusal)
    try:
        pa.array([0])  # pyarrow tries to import pandas once
        importlib.import_module("pyspark.testing.utils")  # Spark's state client imports it, and it imports pandas
    finally:
        sys.meta_path.remove(refusal)
    if not pa.lib._pandas_api.have_pandas:
        sys.meta_path.insert(0, _Watch())


class _Refusal(MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == _NAME:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


class _Watch(MetaPathFinder):
    """Notices the import of pandas."""

    def __init__(self) -> None:
        self._is_searching = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _NAME or self._is_searching:
            return None
        self._is_searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._is_searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _PandasLoader(spec.loader)
        return spec


class _PandasLoader(Loader):
    """Loads pandas as its own loader does, and then notifies pyarrow."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        api: Any = pa.lib._pandas_api
        _ = api.pd  # it imports pandas again, although the first attempt has failed

    def __getattr__(self, name: str) -> Any:  # pandas reads its files by its loader
        return getattr(self._loader, name)
