"""`penstock options`: lists all options with type, default and description."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from penstock import config


def options(as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False) -> None:
    """List all options. Set them with -D key=value or in a Configuration."""
    options = config.options()
    if as_json:
        for option in options:
            typer.echo(
                json.dumps({"key": option.key, "type": option.kind.name, "default": option.default, "doc": option.doc})
            )
        return
    console = Console(highlight=False)
    for option in options:
        console.print(f"[bold]{option.key}[/]  {option.kind.name}, {escape(_default(option))}", soft_wrap=True)
        console.print(Padding(Text(option.doc), (0, 0, 0, 4)))


def _default(option: config.Option) -> str:
    return f"default {option.default_text()}" if option.default_text() else "not set by default"
