"""Calls of sinks: what they raise is told with the sink's name and the element, where it is known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.connectors.sink import SinkWriter
from penstock.engine.program import Program
from penstock.runtime.call_site import CallSite


@contextmanager
def calling_sink(program: Program, number: int, batch: int, writer: SinkWriter | None = None) -> Iterator[None]:
    """Around one call of a sink, or of its writer."""
    try:
        yield
    except Exception as error:
        known: dict[str, Any] = {}
        if writer is not None and writer.failed_on:
            known["element"] = writer.failed_on[0]
        site = CallSite(program.sink_names[number], "", program.sinks[number], "Sink")
        raise site.error(error, batch=batch, **known) from error
