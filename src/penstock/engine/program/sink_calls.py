"""Calls of sinks: errors name the sink and, if known, the element."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.connectors.sink import SinkWriter
from penstock.engine.program.program import Program
from penstock.runtime.loop.call_site import CallSite


@contextmanager
def sink_call(program: Program, number: int, batch: int, writer: SinkWriter | None = None) -> Iterator[None]:
    """Wraps the errors of one call of a sink or of its writer."""
    try:
        yield
    except Exception as error:
        details: dict[str, Any] = {}
        if writer is not None and writer.failed_on:
            details["element"] = writer.failed_on[0]
        site = CallSite(program.sink_names[number], "", program.sinks[number], "Sink")
        raise site.error(error, batch=batch, **details) from error
