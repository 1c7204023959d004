"""The parser is imported only when SQL is parsed, and a build of sqlglot that cannot be extended is reported."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sqlglot import tokens

from penstock.errors import ConfigError
from penstock.table.dialect.build import check_build


@pytest.mark.parametrize(
    "module", ["penstock", "penstock.cli.main", "penstock.cli.run.run", "penstock.cli.sql.sql", "penstock.table"]
)
def test_sqlglot_is_not_imported_without_sql(module: str) -> None:
    program = f"import sys, {module}; print('sqlglot' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


def test_the_compiled_build_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "SQLGLOTC_INSTALLED", True)
    with pytest.raises(ConfigError, match="pip uninstall --yes sqlglotc sqlglotrs") as raised:
        check_build()
    assert raised.value.code == "SQL_PARSER_COMPILED"


def test_an_old_version_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlglot.__version__", "30.20.0")
    with pytest.raises(
        ConfigError, match=r"Version 30\.20\.0 of sqlglot is installed\. SQL needs 30\.24 or later"
    ) as raised:
        check_build()
    assert raised.value.code == "SQL_PARSER_VERSION"


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ConfigError) as raised:
        check_build()
    assert raised.value.code == "SQL_PARSER_MISSING"
