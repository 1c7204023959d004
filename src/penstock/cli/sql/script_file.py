"""Files with scripts: those of users, and those that the client keeps for jobs that run after it has ended."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from penstock.errors import ConfigError
from penstock.folders import create_private, state_folder
from penstock.redaction import is_secret

_OPTION = re.compile(r"'(?P<key>[^']+)'\s*=\s*'")


def read_script(file: Path) -> str:
    """Returns the text of a script."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "SQL_SCRIPT", f"The script {file} cannot be read: {error}. Pass a text file in UTF-8."
        ) from error


def has_secret(text: str) -> bool:
    """Whether a script sets an option whose value is a secret. Such a text does not belong into a command line.

    >>> has_secret("CREATE TABLE t (a INT) WITH ('properties.sasl.password' = 'sesame')"), has_secret("SELECT 'a' = 'b'")
    (True, False)
    """
    return any(is_secret(found["key"]) for found in _OPTION.finditer(text))


def keep_script(text: str) -> Path:
    """Writes a script to a file that only this user can read. Equal scripts have one file."""
    folder = create_private(sql_folder() / "scripts")
    file = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.sql"
    if not file.exists():
        part = file.with_suffix(f".{os.getpid()}")
        part.touch(mode=0o600)
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    return file


def sql_folder() -> Path:
    """The folder of the client: the scripts of its jobs, and the history of the prompt."""
    return state_folder() / "sql"
