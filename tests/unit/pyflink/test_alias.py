"""`import pyflink` imports Penstock, and raises an error with a reason for missing names."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import pytest

import penstock
from penstock.errors import UnsupportedOperation
from penstock.pyflink import install, is_installed, pyflink_modules
from penstock.pyflink.names import MODULES


@pytest.fixture
def alias() -> Iterator[None]:
    with pyflink_modules():
        yield


@pytest.mark.usefixtures("alias")
def test_names_are_penstock_classes() -> None:
    datastream = importlib.import_module("pyflink.datastream")
    assert datastream.StreamExecutionEnvironment is penstock.StreamExecutionEnvironment
    assert importlib.import_module("pyflink.common.typeinfo").Types is penstock.Types
    assert importlib.import_module("pyflink.datastream.state").ValueStateDescriptor is penstock.ValueStateDescriptor


@pytest.mark.usefixtures("alias")
@pytest.mark.parametrize("module", MODULES)
def test_every_module_is_imported(module: str) -> None:
    name = f"pyflink.{module}".rstrip(".")
    made = importlib.import_module(name)
    assert made.__name__ == name
    assert all(hasattr(made, present) for present in made.__all__)
    assert set(made.__all__) <= set(dir(made))


@pytest.mark.usefixtures("alias")
def test_a_submodule_can_be_imported_by_its_package() -> None:
    names: dict[str, ModuleType] = {}
    exec("from pyflink.datastream import state\nfrom pyflink.common import time", names)
    assert names["state"].__name__ == "pyflink.datastream.state"


@pytest.mark.usefixtures("alias")
@pytest.mark.parametrize(
    ("line", "use", "words"),
    [
        (
            "from pyflink.datastream.connectors.pulsar import PulsarSource",
            "PulsarSource.builder()",
            "pyflink.datastream.connectors.pulsar.PulsarSource is a conn",
        ),
        (
            "from pyflink.common import InputDependencyConstraint",
            "InputDependencyConstraint.ANY",
            "belongs to Flink's scheduler",
        ),
        ("import pyflink.java_gateway", "pyflink.java_gateway.get_gateway()", "which are not available"),
        ("from pyflink.table.utils import TableSettings", "TableSettings.load()", "the Table API"),
        ("from pyflink.table.utils import TableSettings", "class Mine(TableSettings): pass", "the Table API"),
        (
            "from pyflink.table.utils import TableSettings",
            "@TableSettings(result_type=None)\ndef f(): pass",
            "the Table API",
        ),
        ("from pyflink.table.utils import TableSettings", "for part in TableSettings: pass", "the Table API"),
        ("from pyflink.table.utils import TableSettings", "TableSettings.x = 1", "the Table API"),
    ],
)
def test_missing_names_can_be_imported_but_not_used(line: str, use: str, words: str) -> None:
    names: dict[str, Any] = {}
    exec(line, names)
    with pytest.raises(UnsupportedOperation, match="NOT_IN_PENSTOCK") as caught:
        exec(use, names)
    assert words in str(caught.value)
    assert "parity.md" in str(caught.value)
    assert isinstance(caught.value, ImportError), "programs that try an import continue"


@pytest.mark.usefixtures("alias")
def test_a_missing_name_may_be_part_of_an_annotation_or_a_function() -> None:
    names: dict[str, Any] = {}
    exec(
        "from typing import List, Optional\n"
        "from pyflink.table.utils import TableSettings\n"
        "def f(x: TableSettings, y: Optional[TableSettings], l: List[TableSettings]) -> TableSettings | None:\n"
        "    return isinstance(x, TableSettings), issubclass(int, TableSettings)\n",
        names,
    )
    assert names["f"](1, 2, 3) == (False, False)
    assert repr(names["TableSettings"]) == "<pyflink.table.utils.TableSettings, which is not in Penstock>"
    assert cloudpickle.loads(cloudpickle.dumps(names["f"]))(1, 2, 3) == (False, False)


@pytest.mark.usefixtures("alias")
@pytest.mark.parametrize("line", ["import pyflink.nothing", "from pyflink.common import Nothing"])
def test_what_pyflink_does_not_have_is_an_ordinary_import_error(line: str) -> None:
    with pytest.raises(ImportError) as caught:
        exec(line, {})
    assert not isinstance(caught.value, UnsupportedOperation)


def test_an_installed_pyflink_is_restored_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "pyflink"
    (package / "common").mkdir(parents=True)
    (package / "__init__.py").write_text("REAL = True\n")
    (package / "common" / "__init__.py").write_text("Row = 'real'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    real = importlib.import_module("pyflink.common")
    try:
        with pyflink_modules():
            assert is_installed()
            assert importlib.import_module("pyflink.common").Row is penstock.Row
            assert not hasattr(importlib.import_module("pyflink"), "REAL")
        assert not is_installed()
        assert importlib.import_module("pyflink.common") is real
    finally:
        for name in ("pyflink", "pyflink.common"):
            sys.modules.pop(name, None)


def test_nested_contexts_end_with_the_outer_one() -> None:
    with pyflink_modules():
        with pyflink_modules():
            assert is_installed()
        assert is_installed()
        install()
    assert not is_installed()


@pytest.mark.usefixtures("alias")
def test_functions_that_use_a_module_can_be_pickled() -> None:
    types = importlib.import_module("pyflink.common.typeinfo")
    again = cloudpickle.loads(cloudpickle.dumps(lambda: types.Types.INT()))
    assert again() == penstock.Types.INT()


def test_other_threads_may_import_meanwhile() -> None:
    """Iterating over `sys.modules` itself fails as soon as another thread imports a module."""
    ended = threading.Event()

    def add_modules() -> None:
        names = [f"imported_meanwhile_{number}" for number in range(1000)]
        while not ended.is_set():
            for name in names:
                sys.modules[name] = ModuleType(name)
            for name in names:
                del sys.modules[name]

    thread = threading.Thread(target=add_modules)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(200):
            with pyflink_modules():
                assert is_installed()
    finally:
        ended.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert not is_installed()
