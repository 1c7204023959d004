"""Files that a program adds for its functions, on the local engine."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from penstock.engine.host.function_variables import PYTHON
from penstock.errors import ConfigError
from penstock.local.user_files import UserFiles


@pytest.fixture(autouse=True)
def same_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_the_module_that_is_added_last_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "added_module_of_a_test.py").write_text(f"NAME = '{name}'")
    UserFiles({"files": [str(tmp_path / name / "added_module_of_a_test.py") for name in "ab"]})
    import added_module_of_a_test  # type: ignore[import-not-found]

    monkeypatch.delitem(sys.modules, "added_module_of_a_test")
    assert added_module_of_a_test.NAME == "b"


def test_functions_run_in_the_folder_of_the_archives(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "number.txt").write_text("2")
    path = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "data")
    files, before = UserFiles({"archives": [f"{path}#numbers", path]}), os.getcwd()
    with files.in_use():
        assert Path("numbers/number.txt").read_text() == Path("packed.zip/number.txt").read_text() == "2"
        extracted = Path.cwd()
    assert os.getcwd() == before
    files.remove()
    assert not extracted.exists()


def test_functions_see_the_variables_of_flink() -> None:
    before = dict(os.environ)
    with UserFiles({}, python="/some/python").in_use():
        assert os.environ[PYTHON] == "/some/python"
        assert int(os.environ["_PYTHON_WORKER_MEMORY_LIMIT"]) > 0
    assert dict(os.environ) == before


def test_requirements_are_installed_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    info = "small_package_of_a_test-1.0.dist-info"
    with zipfile.ZipFile(tmp_path / "small_package_of_a_test-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small_package_of_a_test.py", "NUMBER = 1")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: small-package-of-a-test\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    (tmp_path / "requirements.txt").write_text("small-package-of-a-test==1.0")
    files = UserFiles({"requirements": [str(tmp_path / "requirements.txt"), str(tmp_path)]})
    with files.in_use():
        assert (Path(os.environ["_PYTHON_REQUIREMENTS_INSTALL_DIR"]) / "small_package_of_a_test.py").exists()
        import small_package_of_a_test  # type: ignore[import-not-found]
    monkeypatch.delitem(sys.modules, "small_package_of_a_test")
    assert small_package_of_a_test.NUMBER == 1


def test_a_file_that_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "data.zip").write_text("no archive")
    with pytest.raises(ConfigError, match=r"data\.zip cannot be extracted"):
        UserFiles({"archives": [str(tmp_path / "data.zip")]})
