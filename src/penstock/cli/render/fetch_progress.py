"""How it is told that something is fetched or started: one line that changes, on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def fetching(what: str, silent: bool = False) -> Iterator[Callable[[str], None]]:
    """Gives the function that is told of each step. Without a terminal each step is a line."""
    console = Console(stderr=True, highlight=False, quiet=silent)
    if not console.is_terminal:
        yield lambda step: console.print(f"penstock: {what}: {step}", soft_wrap=True)
        return
    with console.status(what) as status:
        yield lambda step: status.update(f"{what}: {step}")


def versions_in(settings: list[str] | None) -> dict[str, str]:
    """NAME=VERSION, as options give them.

    >>> versions_in(["kafka=4.1.0"])
    {'kafka': '4.1.0'}
    """
    return {name: version for name, _, version in (setting.partition("=") for setting in settings or [])}
