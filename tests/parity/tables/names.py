"""The public names of PyFlink's Table API, which scripts/read_pyflink_table_names.py writes, and their lookup in Penstock."""

from __future__ import annotations

import importlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from penstock.pyflink import pyflink_modules
from penstock.pyflink.missing import MissingName
from penstock.pyflink.table_names import TABLE_MODULES
from tests.parity.names import Name, names_of

DATA = Path(__file__).parent / "pyflink.json"


@cache
def names() -> tuple[Name, ...]:
    """Returns all names, in the order of PyFlink."""
    return names_of(json.loads(DATA.read_text(encoding="utf-8")))


@cache
def _found() -> dict[str, Any]:
    found: dict[str, Any] = {}
    with pyflink_modules():
        for module, listed in TABLE_MODULES.items():
            made = importlib.import_module(f"pyflink.{module}")
            for name in listed.split():
                value = getattr(made, name, None)
                if name not in found and value is not None and not isinstance(value, MissingName):
                    found[name] = value
    return found


def find(owner: str) -> Any:
    """Returns the class or function that `import pyflink` finds, or None."""
    outer, *inner = owner.split(".")
    found = _found().get(outer)
    for name in inner:
        found = getattr(found, name, None)
    return found
