"""Installs the import alias of Penstock, the test modules, and the Java sides of classes."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from tests.pyflink_suite.shim.java_sides import set_java_sides

HERE = Path(__file__).parent
REPLACED = {
    "pyflink.testing.test_case_utils": HERE / "base_classes.py",
    "pyflink.datastream.tests.test_util": HERE / "collecting_sink.py",
    "pyflink.testing.source_sink_utils": HERE / "table_sink.py",
}
PACKAGES = re.compile(r"pyflink\.(\w+\.)*tests|pyflink\.testing")
TESTS = re.compile(r"pyflink\.(\w+\.)*tests\.\w+")
SMALL = (
    "pyflink.java_gateway",
    "pyflink.find_flink_home",
    "pyflink.pyflink_gateway_server",
    "pyflink.util.java_utils",
)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, tests: Path) -> None:
        self.tests = tests

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname in REPLACED:
            return importlib.util.spec_from_file_location(fullname, REPLACED[fullname])
        if fullname in SMALL:
            return importlib.machinery.ModuleSpec(fullname, self)
        if PACKAGES.fullmatch(fullname):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if TESTS.fullmatch(fullname):
            file = self.tests / (fullname.replace(".", "/") + ".py")
            return importlib.util.spec_from_file_location(fullname, file) if file.exists() else None
        return None

    def create_module(self, spec: Any) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        from tests.pyflink_suite.shim import modules

        modules.fill(module.__name__, module)


def install(tests: Path) -> None:
    from penstock.pyflink import install as install_alias

    install_alias()
    sys.meta_path.insert(0, _Finder(tests))
    from tests.pyflink_suite.shim import modules, table_sink

    modules.put_names()
    set_java_sides()
    table_sink.install()


def by_value(name: str) -> ModuleType:
    """Imports a test module. Its functions are pickled by value, as those of a main program are."""
    module = importlib.import_module(name)
    for package in (name.rpartition(".")[0], "pyflink.datastream.tests", "pyflink.table.tests", "pyflink.testing"):
        cloudpickle.register_pickle_by_value(importlib.import_module(package))  # and all modules in it
    return module
