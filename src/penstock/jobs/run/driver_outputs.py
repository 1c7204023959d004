"""The outputs that sinks deliver to the program that runs the job: collected results and printed lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from penstock.connectors.basic_sinks import CollectSink, PrintSink
from penstock.errors import JobError

DriverOutput = dict[int, list[Any]]  # the elements of one batch, by sink number


def print_lines(lines: Iterable[str], to_stderr: bool = False) -> None:
    """Prints lines to stdout or stderr. Raises JobError if it is closed, because the lines would be lost."""
    output = sys.stderr if to_stderr else sys.stdout
    try:
        for line in lines:
            print(line, file=output)
        output.flush()
    except BrokenPipeError as error:
        raise JobError(
            "STDOUT_CLOSED",
            "The process that reads the standard output of this program has ended, so print() cannot write elements any more. "
            "The job ends. Elements of its last batch may be missing in the output. Read the output to its end, or write it to a "
            "file.",
        ) from error


class DriverOutputs:
    """Delivers the outputs of each batch once, also if the batch runs again."""

    def __init__(self, sinks: list[Any]) -> None:
        self._sinks = sinks
        self._collected: DriverOutput = {}
        self.last_batch = -1  # the last batch that was delivered

    def deliver(self, batch: int, output: DriverOutput) -> bool:
        """Prints and collects the output of a batch. Returns False if the batch was delivered before."""
        if batch <= self.last_batch:
            return False
        self.last_batch = batch
        for number, elements in output.items():
            sink = self._sinks[number]
            if isinstance(sink, PrintSink):
                print_lines((sink.line(element) for element in elements), sink.to_stderr)
            elif isinstance(sink, CollectSink):
                self._collected.setdefault(number, []).extend(elements)
        return True

    def collected(self, sink: int) -> list[Any]:
        """All elements that a collecting sink has received."""
        return self._collected.get(sink, [])
