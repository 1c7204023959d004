"""The plan for a job that starts from a savepoint. It is made before any file is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.atomic_file import write_atomic
from penstock.config import Configuration
from penstock.engine.program.program import Program
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.jobs.registry.latest_checkpoint import LatestCheckpoint, named_folder
from penstock.savepoints.restore_plan import RestorePlan, plan_restore
from penstock.savepoints.savepoint import Savepoint, is_checkpoint, open_savepoint
from penstock.spark.query.dataframe_sources import copy_tables
from penstock.spark.savepoint.initial_state import write_initial_state
from penstock.spark.savepoint.retained_checkpoint import savepoint_from_checkpoint


class SparkRestorePlan(RestorePlan):
    """A restore plan that is written to the checkpoint. The slots execute it in their first batch."""

    def write_to(self, checkpoint: Checkpoint) -> None:
        """Writes the initial state of the job into its new checkpoint."""
        write_initial_state(checkpoint.initial, self.savepoint, self.program, self.matched)
        copy_tables(self.program, checkpoint, self.matched.offsets)
        write_atomic(_offsets_file(checkpoint), json.dumps(self.matched.offsets).encode(), durable=False)


def plan_spark_restore(program: Program, configuration: Configuration) -> SparkRestorePlan | None:
    """The restore plan of a job; None if it starts with empty state or resumes its own checkpoint."""

    def open_path(path: str) -> Savepoint:
        if is_checkpoint(path):
            return savepoint_from_checkpoint(path, program, configuration)
        return open_savepoint(path)

    latest = LatestCheckpoint(named_folder(configuration, program.name))
    plan = plan_restore(program, configuration, open_path, latest.started_from)
    return None if plan is None else SparkRestorePlan(plan.savepoint, plan.program, plan.matched)


def read_initial_offsets(checkpoint: Checkpoint) -> dict[str, Any]:
    """The start offsets from a savepoint, by source number, and of "control". They apply until Spark's log has offsets."""
    try:
        offsets: dict[str, Any] = json.loads(_offsets_file(checkpoint).read_text())
    except FileNotFoundError:
        return {}
    return offsets


def _offsets_file(checkpoint: Checkpoint) -> Path:
    return Path(checkpoint.initial, "offsets.json")
