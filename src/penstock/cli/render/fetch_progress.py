"""Shows the progress of a download or a server start in one line on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def show_steps(title: str, silent: bool = False) -> Iterator[Callable[[str], None]]:
    """Yields the function to call with each step. Without a terminal, each step is printed as a line."""
    console = Console(stderr=True, highlight=False, quiet=silent)
    if not console.is_terminal:
        yield lambda step: console.print(f"penstock: {title}: {step}", soft_wrap=True)
        return
    with console.status(title) as status:
        yield lambda step: status.update(f"{title}: {step}")


def parse_versions(settings: list[str] | None) -> dict[str, str]:
    """The versions of `--version NAME=VERSION` arguments.

    >>> parse_versions(["kafka=4.1.0"])
    {'kafka': '4.1.0'}
    """
    return {name: version for name, _, version in (setting.partition("=") for setting in settings or [])}
