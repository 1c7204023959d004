"""What becomes of an element on which a user's function raises."""

from __future__ import annotations

from typing import Any, Literal

from penstock.connectors.sink import Sink
from penstock.connectors.sinks import CallableSink
from penstock.errors import PlanError, UnsupportedOperation
from penstock.functions import DEAD_LETTERS, OutputTag
from penstock.plan.nodes import Node

OnError = Literal["fail", "dead_letter"]
OnBadRecord = Literal["fail", "dead_letter", "skip"]


def check_on_error(method: str, on_error: Any) -> None:
    if on_error not in ("fail", "dead_letter"):
        raise PlanError(
            "ON_ERROR",
            f'{method}() got on_error={on_error!r}; it takes "fail", so that an error fails the job, or "dead_letter", so '
            "that the element goes to the side output DEAD_LETTERS.",
        )


def check_on_bad_record(on_error: Any) -> None:
    if on_error not in ("fail", "dead_letter", "skip"):
        raise PlanError(
            "ON_ERROR",
            f'from_source() got on_error={on_error!r}; it takes "fail", so that a record that does not decode fails the job, '
            '"dead_letter", so that it goes to the side output DEAD_LETTERS, or "skip", so that it is dropped and counted.',
        )


def check_side_output(node: Node, tag: OutputTag[Any]) -> None:
    """Dead letters come from an operator that was asked to make them."""
    if tag == DEAD_LETTERS and node.on_error != "dead_letter":
        raise PlanError(
            "NO_DEAD_LETTERS",
            f"The dead letters of operator '{node.name}' were asked for, and it makes none: an error in it fails the job. "
            'Give the call that made it on_error="dead_letter".',
        )


def sink_with(sink: Sink, on_error: OnError) -> Sink:
    """The sink, as one that can put elements aside if that is asked for."""
    if on_error != "dead_letter":
        return sink
    if not isinstance(sink, CallableSink):
        raise UnsupportedOperation(
            "DEAD_LETTERS_OF_SINK",
            f'sink_to() got on_error="dead_letter" with a {type(sink).__name__}, which writes a batch as a whole when all '
            "else is done: no element can be put aside then. Check the elements in a map with on_error before it; add_sink "
            "calls a function element by element and can put them aside.",
        )
    return sink.in_chain()
