"""The seam of sinks: written in tasks, prepared there, committed on the driver with the batch's number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.runtime.records import Tags
from penstock.types import TypeInformation


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Who writes: a batch's number, a partition of it, and the attempt.

    Numbers of batches begin at 0 again when a job is restored into a fresh checkpoint. The lineage tells such runs apart: it
    is new with each fresh checkpoint, and stays the same however often the job is resumed from it.
    """

    batch: int
    partition: int
    attempt: str
    lineage: str = ""
    sink: str = ""  # the sink's uid, unique within its job
    partitions: int = 1  # the job's parallelism; a batch may have more tasks
    begun_before: int | None = (
        None  # when an earlier run began this batch, in milliseconds since 1970; none: no run has
    )
    repeated: bool = (
        False  # a damaged checkpoint went back: later batches may have been written before, and this one with them
    )
    whole_job: bool = False  # a job in batch mode: this batch is all of it, and a restart begins with it again


class SinkWriter:
    """Writes the elements of one task; nothing is visible before the sink's commit."""

    failed_on: tuple[Any, ...] = ()  # the element on which `write` raised, if the writer knows it

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        """Writes some elements; timestamps and tags are there if the sink wants them."""
        raise NotImplementedError

    def prepare(self) -> Any:
        """Finishes writing; what it returns reaches `Sink.commit` (None: nothing was written)."""
        return None

    def abort(self) -> None:
        """Removes what was written."""


class Sink:
    """Where elements go. Subclasses describe themselves by plain, picklable fields."""

    wants_tags = False  # get each element's place in the order, to sort what is shown to people
    wants_timestamps = False  # get each element's timestamp
    wants_values = True  # False: elements are counted where they are, and go nowhere
    takes_inferred_type = False  # `of_type` is also given a type that was read from annotations
    commits_in_program = (
        False  # what tasks prepared is handed to the program, whose answer the batch's commit waits for
    )
    upserts = (
        False  # an element that is written again leaves what it left the first time, as a value under its key does
    )
    native = False  # Spark can write to it without any Python
    called_in_chain: Any = None  # a function that takes the elements where they are, so that it can refuse some

    def of_type(self, kind: TypeInformation | None) -> Sink:
        """The same sink for elements of this type, which was declared for them; None: no type was declared."""
        return self

    def attach(self, folder: str) -> None:
        """Called on the driver before the job runs, with a folder that lasts as long as the checkpoint."""

    def writer(self, task: WriteTask) -> SinkWriter:
        """What writes the elements of one task."""
        raise NotImplementedError

    def commit(self, batch: int, prepared: list[Any]) -> list[Any] | None:
        """Makes a batch visible; called again with the same batch when it is not known whether the first call ended.

        What it returns is handed to the program that runs the job (for collect and print).
        """
        return None

    def files_in(self, prepared: list[Any]) -> tuple[int, int]:
        """How many files a batch's tasks have written, and their bytes; of a sink that writes files."""
        return 0, 0

    def due(self) -> int | None:
        """When `commit` is to be called again even if no element comes, in milliseconds since 1970; asked after it."""
        return None

    def finish(self) -> None:
        """Called on the driver when the job has come to its end and nothing more will be written; perhaps again."""

    def abort(self, batch: int, prepared: list[Any]) -> None:
        """Removes what was prepared."""

    def memory(self) -> Any:
        """What another run has to know of the batches up to the one that was just committed, for JSON; None: nothing.

        Asked on the driver right after `commit`, when the batch is a savepoint's.
        """
        return None

    def restore(self, memory: Any) -> None:
        """Called on the driver before a job runs that begins with a savepoint, after `attach`: what `memory` gave."""
