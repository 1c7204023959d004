"""Decides whether a batch was written if its transaction marker is missing."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from penstock.atomic_file import write_atomic
from penstock.connectors.checkpoint_file import damaged_file_error, read_checkpoint_file
from penstock.connectors.sink import WriteTask
from penstock.errors import JobError

if TYPE_CHECKING:
    from penstock.connectors.kafka.sink.transaction import TransactionalProducer

LostMarkerPolicy = Literal["fail", "write", "skip"]
_ASSUMED_RETENTION = 24 * 3600.0  # seconds, if the retention time of the broker cannot be read
_MARGIN = 0.9


class TransactionMarkers:
    """Records on the driver which tasks have markers at the broker, and applies the policy if one is missing."""

    def __init__(self, policy: LostMarkerPolicy, folder: str = "") -> None:
        self.policy = policy
        self.folder = folder  # exists as long as the checkpoint; empty in a test harness
        self._known: dict[str, int] | None = None

    def record(self, marked: list[tuple[str, list[str]]], batch: int) -> None:
        """Records that these transactions have markers on these topics. Writes the file only if there are new ones."""
        if not self.folder:
            return
        known = self._recorded()
        names = [f"{writer} {topic}" for writer, topics in marked for topic in topics]
        new = [name for name in names if name not in known]
        if new:
            updated = {**known, **dict.fromkeys(new, batch)}
            write_atomic(self._file(), json.dumps(updated).encode(), durable=True)
            self._known = updated  # only after the write, so that a failed write is repeated

    def _recorded(self) -> dict[str, int]:
        if self._known is None:
            data = read_checkpoint_file(self._file())
            try:
                self._known = {} if data is None else msgspec.json.decode(data, type=dict[str, int])
            except msgspec.DecodeError as error:
                raise damaged_file_error(self._file(), error) from error
        return self._known

    def _file(self) -> Path:
        return Path(self.folder, "marks.json")

    def counts_as_written(self, producer: TransactionalProducer, task: WriteTask, writer: str, topic: str) -> bool:
        """Whether a batch without a marker counts as written.

        A batch that no earlier run began cannot have been written. Otherwise a missing marker means "not written", unless the
        broker may have deleted the marker.
        """
        if task.begun_before is None:
            return False
        reason = self._loss_reason(producer, task.begun_before, f"{writer} {topic}")
        if not reason or self.policy == "write":
            return False
        if self.policy == "skip":
            return True
        began = datetime.fromtimestamp(task.begun_before / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        raise JobError(
            "KAFKA_MARKS_LOST",
            f"An earlier run began batch {task.batch} at {began} and did not finish it. It is unknown whether its records are in "
            f"Kafka, because the marker of '{producer.transactional_id}' is missing: {reason}. Check the topic. Then call "
            'set_lost_marker_policy("write") on the sink builder and resume to write the batch, or set_lost_marker_policy("skip") '
            "to treat it as written.",
        )

    def _loss_reason(self, producer: TransactionalProducer, began: int, name: str) -> str:
        """Returns why the marker may have been lost, or an empty string if there cannot have been one."""
        if self.folder and name in self._recorded():
            return "earlier batches wrote one"
        retention = producer.marker_retention()
        age = time.time() - began / 1000
        if age < (_ASSUMED_RETENTION if retention is None else retention * _MARGIN):
            return ""
        setting = (
            "its offsets.retention.minutes could not be read"
            if retention is None
            else f"it keeps markers for {retention / 3600:g} h"
        )
        return f"the broker may have deleted it ({setting}, and the batch is {age / 3600:.1f} h old)"
