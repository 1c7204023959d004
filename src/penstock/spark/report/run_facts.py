"""What the driver writes once for each attempt of a job, for the processes that Spark starts on its machine."""

from __future__ import annotations

from typing import Any

import msgspec


class RunFacts(msgspec.Struct, frozen=True):
    """The facts of one attempt."""

    run_id: str  # unique per attempt; also the key under which workers cache the program
    checkpoint: str  # folder
    source_data: str  # folder for files of sources, kept as long as the checkpoint
    heartbeat: int  # the longest time between two batches, in milliseconds; 0 for no limit
    lineage: str  # of the checkpoint; see `WriteTask`
    keep_open: bool  # a scripted job stops after its script, without the final watermark
    repeating: bool  # the batch was committed before a damaged checkpoint was rolled back
    paced: bool  # sources observe the pause between batches
    buffer_timeout: float | None  # how long records may wait for a batch to fill, in seconds; None until it is full
    unfinished: tuple[int, int] | None  # a batch that an earlier run did not finish: its number, and when it began (ms)
    control_offset: dict[str, Any] | None = None  # from a savepoint; None to start with the initial offset
    source_offsets: dict[int, Any] = {}  # from a savepoint, by the number of a source
