"""What becomes of an element on which a user's function raises."""

from __future__ import annotations

from typing import Any, Literal

from penstock.errors import PlanError
from penstock.functions import DEAD_LETTERS, OutputTag
from penstock.plan.nodes import Node

OnError = Literal["fail", "dead_letter"]


def check_on_error(method: str, on_error: Any) -> None:
    if on_error not in ("fail", "dead_letter"):
        raise PlanError(
            "ON_ERROR",
            f'{method}() got on_error={on_error!r}; it takes "fail", so that an error fails the job, or "dead_letter", so '
            "that the element goes to the side output DEAD_LETTERS.",
        )


def check_side_output(node: Node, tag: OutputTag[Any]) -> None:
    """Dead letters come from an operator that was asked to make them."""
    if tag == DEAD_LETTERS and node.on_error != "dead_letter":
        raise PlanError(
            "NO_DEAD_LETTERS",
            f"The dead letters of operator '{node.name}' were asked for, and it makes none: an error in it fails the job. "
            'Give the call that made it on_error="dead_letter".',
        )
