"""Marks that should be there and are not: what a task that finds none may conclude."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from penstock.connectors.lasting_file import write_lasting
from penstock.connectors.sink import WriteTask
from penstock.errors import JobError

if TYPE_CHECKING:
    from penstock.connectors.kafka.transaction import MarkedProducer

LostMarks = Literal["fail", "write", "skip"]
_SURELY_KEPT = 24 * 3600.0  # seconds, where the broker does not tell how long it keeps marks
_MARGIN = 0.9


class Marks:
    """The driver's memory of which tasks have marks at the broker, and what to do when such a mark is gone."""

    def __init__(self, policy: LostMarks, folder: str = "") -> None:
        self.policy = policy
        self.folder = folder  # that lasts as long as the checkpoint; none in a harness
        self._known: dict[str, int] | None = None

    def confirm(self, marked: list[tuple[str, list[str]]], batch: int) -> None:
        """Remembers that marks of these transactions are on these topics. Only new ones are written down."""
        if not self.folder:
            return
        known = self._confirmed()
        names = [f"{of} {topic}" for of, topics in marked for topic in topics]
        new = [name for name in names if name not in known]
        if new:
            more = {**known, **dict.fromkeys(new, batch)}
            write_lasting(self._file(), json.dumps(more).encode())
            self._known = more  # not before: a batch whose marks could not be written is confirmed again

    def _confirmed(self) -> dict[str, int]:
        if self._known is None:
            try:
                self._known = json.loads(self._file().read_text())
            except FileNotFoundError:
                self._known = {}
        assert self._known is not None
        return self._known

    def _file(self) -> Path:
        return Path(self.folder, "marks.json")

    def counts_as_done(self, producer: MarkedProducer, task: WriteTask, of: str, topic: str) -> bool:
        """Whether a batch without a mark counts as written.

        A batch that no earlier run began cannot have been written. Else the mark says it, as long as the broker keeps marks.
        """
        if task.begun_before is None:
            return False
        why = self._why_lost(producer, task.begun_before, f"{of} {topic}")
        if not why or self.policy == "write":
            return False
        if self.policy == "skip":
            return True
        began = datetime.fromtimestamp(task.begun_before / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        raise JobError(
            "KAFKA_MARKS_LOST",
            f"An earlier run began batch {task.batch} at {began} and did not finish it. Whether its records are in Kafka is not "
            f"known any more: the mark of '{producer.identity}' is not there, {why}. Look into the topic. Then resume with "
            'set_lost_marks("write") of the sink\'s builder to write the batch, or "skip" to take it as written.',
        )

    def _why_lost(self, producer: MarkedProducer, began: int, name: str) -> str:
        """Why a mark may have been there; empty when there can have been none."""
        if self.folder and name in self._confirmed():
            return "and earlier batches left one"
        kept = producer.mark_kept_for()
        age = time.time() - began / 1000
        if age < (_SURELY_KEPT if kept is None else kept * _MARGIN):
            return ""
        told = (
            "its offsets.retention.minutes could not be read"
            if kept is None
            else f"it keeps marks for {kept / 3600:g} h"
        )
        return f"and the broker may have forgotten it: {told}, and the batch is {age / 3600:.1f} h old"
