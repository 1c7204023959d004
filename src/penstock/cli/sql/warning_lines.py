"""Warnings about settings as lines of the client. The place in the code that Python adds means nothing to its users."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.errors import OptionIgnored


@contextmanager
def short_warnings() -> Iterator[None]:
    """Inside the block, warnings about settings are printed as lines on stderr."""
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **others: Any) -> None:
        if issubclass(category, OptionIgnored):
            print(f"penstock: {message}", file=sys.stderr)
        else:
            before(message, category, *place, **others)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
