"""Reads the outputs that sinks deliver to the driver program from the folder of the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.jobs.run.driver_outputs import DriverOutput, DriverOutputs
from penstock.spark.report.run_folder import RunFolder


class FolderOutputs(DriverOutputs):
    """The outputs of a run, in its folder."""

    def __init__(self, sinks: list[Any], folder: RunFolder) -> None:
        super().__init__(sinks)
        self._folder = folder

    def deliver_new(self) -> Iterator[tuple[int, DriverOutput]]:
        """Prints and collects the outputs that have arrived since the last call, and yields them by batch."""
        for batch, output in self._folder.take_driver_outputs():
            if self.deliver(batch, output):
                yield batch, output
