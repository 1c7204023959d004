"""Arguments of a program after `--`, for commands with a list of arguments of their own."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

_KEY = "penstock.program_arguments"


class ProgramArgumentsCommand(TyperCommand):
    """A command that takes arguments of a program after `--`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_KEY] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- ARGS]"]


def program_arguments(context: typer.Context) -> list[str] | None:
    """The arguments after `--`; None if the command line has no `--`."""
    arguments: list[str] | None = context.meta.get(_KEY)
    return arguments
