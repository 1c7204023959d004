"""All functions, by name. Importing the families registers them."""

from __future__ import annotations

from penstock.runtime.relational.functions import (  # noqa: F401 - registers the functions
    arithmetic,
    bitmaps,
    clock,
    collections,
    comparison,
    conditional,
    conversion,
    date_text,
    hashes,
    json_functions,
    logic,
    maths,
    patterns,
    splitting,
    strings,
    temporal,
    urls,
)
from penstock.runtime.relational.functions.definition import FUNCTIONS

__all__ = ["FUNCTIONS"]
