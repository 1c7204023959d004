"""Imports sqlglot and checks that it is a build that can be extended.

The compiled build (the distribution `sqlglotc`, by the extras `c` and `rs`) replaces sqlglot's modules with classes that Python
code cannot extend. Without this check the import of the grammar ends in a TypeError of the interpreter.
"""

from __future__ import annotations

from penstock.errors import ConfigError

_OLDEST = (30, 24)  # as in pyproject.toml


def check_build() -> None:
    """Raises an error unless sqlglot is installed as Python code, in a version that has what the grammar needs."""
    try:
        import sqlglot
        from sqlglot import tokens
    except ImportError as error:
        raise ConfigError(
            "SQL_PARSER_MISSING",
            f"SQL needs the package sqlglot, which cannot be imported: {error}. Run: pip install sqlglot",
        ) from error
    installed = str(vars(sqlglot).get("__version__", "0"))
    if getattr(tokens, "SQLGLOTC_INSTALLED", False):
        raise ConfigError(
            "SQL_PARSER_COMPILED",
            "The compiled build of sqlglot is installed, and its parser cannot be extended with Flink's dialect. Penstock needs "
            "the build in Python. Run: pip uninstall --yes sqlglotc sqlglotrs, "
            f"then: pip install --force-reinstall --no-deps sqlglot=={installed}",
        )
    if tuple(int(part) for part in installed.split(".")[:2] if part.isdigit()) < _OLDEST:
        oldest = ".".join(str(part) for part in _OLDEST)
        raise ConfigError(
            "SQL_PARSER_VERSION",
            f"Version {installed} of sqlglot is installed. SQL needs {oldest} or later. Run: pip install 'sqlglot>={oldest}'",
        )
