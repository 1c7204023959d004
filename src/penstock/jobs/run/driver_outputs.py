"""The outputs that sinks deliver to the program that runs the job: collected results and printed lines."""

from __future__ import annotations

import sys
from typing import Any

from penstock.connectors.basic_sinks import CollectSink, PrintSink

DriverOutput = dict[int, list[Any]]  # the elements of one batch, by sink number


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
                for element in elements:
                    print(sink.line(element))
                sys.stdout.flush()
            elif isinstance(sink, CollectSink):
                self._collected.setdefault(number, []).extend(elements)
        return True

    def collected(self, sink: int) -> list[Any]:
        """All elements that a collecting sink has received."""
        return self._collected.get(sink, [])
