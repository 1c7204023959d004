"""Reads a source to its end in this process and records the results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import penstock as ps
from penstock.connectors import Source
from penstock.testing import Harness


@dataclass
class Outcome:
    """Elements, dead letters and counts of a source."""

    elements: list[Any] = field(default_factory=list)
    dead_letters: list[ps.DeadLetter] = field(default_factory=list)
    skipped: int = 0
    error: ps.errors.PenstockError | None = None

    @property
    def text(self) -> str:
        assert self.error is not None, "the job did not fail"
        return str(self.error)


def read(source: Source, on_error: Literal["fail", "dead_letter", "skip"] = "fail") -> Outcome:
    """Reads a source with this policy."""
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(source, ps.WatermarkStrategy.no_watermarks(), "input", on_error=on_error)
    harness = Harness(env)
    elements = harness.collect(stream)
    dead_letters = harness.collect(stream.get_side_output(ps.DEAD_LETTERS)) if on_error == "dead_letter" else []
    outcome = Outcome()
    try:
        harness.run()
        outcome.skipped = sum(harness.skipped_records().values())
    except ps.errors.PenstockError as error:
        outcome.error = error
    outcome.elements, outcome.dead_letters = list(elements), list(dead_letters)
    return outcome
