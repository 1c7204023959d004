"""Handling of elements for which a user function raises an error."""

from __future__ import annotations

from typing import Any, Literal

from penstock.connectors.basic_sinks import CallableSink
from penstock.connectors.sink import Sink
from penstock.errors import PlanError, UnsupportedOperation
from penstock.functions import DEAD_LETTERS, OutputTag
from penstock.plan.nodes import Node

OnError = Literal["fail", "dead_letter"]
OnBadRecord = Literal["fail", "dead_letter", "skip"]


def check_on_error(method: str, on_error: Any) -> None:
    if on_error not in ("fail", "dead_letter"):
        raise PlanError(
            "ON_ERROR",
            f'{method}() got on_error={on_error!r}. Pass "fail" to fail the job, or "dead_letter" to send the element to the side '
            "output DEAD_LETTERS.",
        )


def check_on_bad_record(on_error: Any) -> None:
    if on_error not in ("fail", "dead_letter", "skip"):
        raise PlanError(
            "ON_ERROR",
            f'from_source() got on_error={on_error!r}. For records that cannot be decoded, pass "fail" to fail the job, '
            '"dead_letter" to send them to the side output DEAD_LETTERS, or "skip" to drop and count them.',
        )


def check_side_output(node: Node, tag: OutputTag[Any]) -> None:
    """Raises PlanError if the dead letters of an operator without a dead-letter output are read."""
    if tag == DEAD_LETTERS and node.on_error != "dead_letter":
        raise PlanError(
            "NO_DEAD_LETTERS",
            f"Operator '{node.name}' has no dead-letter output because an error in it fails the job. "
            'Set on_error="dead_letter" where the operator is created.',
        )


def with_error_handling(sink: Sink, on_error: OnError) -> Sink:
    """Returns the sink, in a form that supports dead letters if they are requested."""
    if on_error != "dead_letter":
        return sink
    if not isinstance(sink, CallableSink):
        raise UnsupportedOperation(
            "DEAD_LETTERS_OF_SINK",
            f'sink_to() got on_error="dead_letter" with a {type(sink).__name__}, which writes complete batches and cannot reject '
            "single elements. Check the elements in a map with on_error before the sink, or use add_sink, which calls a "
            "function for each element.",
        )
    return sink.in_chain()
