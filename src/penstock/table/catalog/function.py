"""Functions as a catalog stores them."""

from __future__ import annotations

from typing import Any

import msgspec


class CatalogFunction(msgspec.Struct, frozen=True):
    """A function of the user: the path of its Python object, and the options of WITH. inline: the object itself, if a program
    passed it; such functions are temporary.
    """

    implementation: str
    language: str = "PYTHON"
    options: tuple[tuple[str, str], ...] = ()
    inline: Any = None
