"""The interface of sinks: tasks write and prepare, the driver commits the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.runtime.loop.records import Tags
from penstock.types import TypeInformation

SINK_FILE = "sink-"  # prefix of the names of files that sinks add to a savepoint


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Identifies a write: batch number, partition and attempt.

    Batch numbers start at 0 again if a job is restored into a new checkpoint. The lineage distinguishes such runs: each new
    checkpoint has a new lineage, and all runs that resume from the checkpoint have the same one.
    """

    batch: int
    partition: int
    attempt: str
    lineage: str = ""
    sink: str = ""  # uid of the sink, unique within its job
    partitions: int = 1  # parallelism of the job; a batch may have more tasks
    # When an earlier run began this batch, in milliseconds since the epoch. None if no run has.
    begun_before: int | None = None
    # After the repair of a damaged checkpoint: this batch and later ones may have been written before.
    repeated: bool = False
    whole_job: bool = False  # batch mode: this batch is the complete job, and a restart repeats it


class SinkWriter:
    """Writes the elements of one task. Nothing becomes visible before `Sink.commit`."""

    failed_on: tuple[Any, ...] = ()  # the element on which `write` raised, if the writer knows it

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        """Writes elements. `timestamps` and `tags` are None unless the sink requests them."""
        raise NotImplementedError

    def prepare(self) -> Any:
        """Finishes the write. The result is passed to `Sink.commit`; None means that nothing was written."""
        return None

    def abort(self) -> None:
        """Removes what was written."""


class Sink:
    """Base class of sinks. All fields of a subclass must be picklable."""

    wants_tags = False  # whether `write` gets tags, which sort the elements of a batch
    wants_timestamps = False  # whether `write` gets timestamps
    wants_values = True  # False if elements are only counted and not passed to the writer
    takes_inferred_type = False  # whether `of_type` also gets types that were inferred from annotations
    # Whether the prepared results are sent to the user's program. The commit of the batch waits for its reply.
    commits_in_program = False
    upserts = False  # whether writing an element twice has the same effect as writing it once
    native = False  # Spark can write to it without Python code
    called_in_chain: Any = None  # a function that is called within the chain, so that its errors become dead letters

    def of_type(self, kind: TypeInformation | None) -> Sink:
        """Returns this sink for elements of the declared type. None means that no type was declared."""
        return self

    def attach(self, folder: str) -> None:
        """Called on the driver before the job runs, with a folder that exists as long as the checkpoint."""

    def writer(self, task: WriteTask) -> SinkWriter:
        """Returns the writer of one task."""
        raise NotImplementedError

    def commit(self, batch: int, prepared: list[Any]) -> list[Any] | None:
        """Makes a batch visible. Called again for the same batch if it is unknown whether the first call finished.

        The result is passed to the program that runs the job (for collect and print).
        """
        return None

    def files_in(self, prepared: list[Any]) -> tuple[int, int]:
        """Returns the number of files that the tasks of a batch wrote, and their bytes. For sinks that write files."""
        return 0, 0

    def due(self) -> int | None:
        """Returns when `commit` must be called again even without new elements, in milliseconds since the epoch, or None.

        Called after `commit`.
        """
        return None

    def finish(self) -> None:
        """Called on the driver when the job has ended and nothing more will be written, possibly more than once."""

    def abort(self, batch: int, prepared: list[Any]) -> None:
        """Removes what was prepared."""

    def memory(self) -> Any:
        """Returns what a restored job needs to know about the committed batches, as a JSON value; None if it needs nothing.

        Called on the driver right after `commit` if the batch belongs to a savepoint.
        """
        return None

    def memory_in(self, savepoint: str) -> Any:
        """Returns `memory` for a savepoint at this path. Files that the sink adds to it have names that start with SINK_FILE.

        For output that is not visible yet, and whose data the running job will change or remove.
        """
        return self.memory()

    def restore_from(self, savepoint: str, memory: Any) -> None:
        """Calls `restore`. A sink that has added files to the savepoint reads them at this path."""
        self.restore(memory)

    def restore(self, memory: Any) -> None:
        """Called on the driver, after `attach`, before a job starts from a savepoint. Gets the result of `memory`."""
