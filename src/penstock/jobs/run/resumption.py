"""What a job that is resumed takes over from its checkpoint, besides its state."""

from __future__ import annotations

from dataclasses import replace

from penstock.config import Configuration
from penstock.config.checkpoint_options import LATEST, RESUME
from penstock.config.execution_options import PARALLELISM
from penstock.config.rescale_options import RESCALED
from penstock.errors import CheckpointError
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.jobs.checkpoint.job_description import read_job_description
from penstock.jobs.registry.latest_checkpoint import LatestCheckpoint, named_folder
from penstock.jobs.registry.launch_file import read_launch
from penstock.plan.graph import JobGraph


def keep_parallelism(graph: JobGraph, configuration: Configuration) -> JobGraph:
    """The job with the parallelism of the checkpoint that it resumes, unless the program or its options set another one.

    The default parallelism depends on the machine, and a checkpoint does not. A job that was rescaled keeps its new parallelism,
    although the program sets the old one.
    """
    folder = _checkpoint_to_resume(graph, configuration)
    if folder is None or configuration.get(RESCALED) is not None:
        return graph
    try:
        saved = read_job_description(folder).parallelism
    except CheckpointError:
        return graph  # reported when the checkpoint is opened
    stored = read_launch(folder)
    rescaled = stored is not None and str(stored.launch.options.get(RESCALED.key)) == str(saved)
    if rescaled:
        return graph.rescaled(saved)
    own = replace(
        graph, parallelism=1
    ).slots  # of operators that set their own; if it is higher, the saved default is not known
    return replace(graph, parallelism=saved) if own < saved and configuration.get(PARALLELISM) is None else graph


def _checkpoint_to_resume(graph: JobGraph, configuration: Configuration) -> str | None:
    resume: str = configuration.get(RESUME)
    if not resume or graph.batch_mode:
        return None
    if resume != LATEST:
        return resume
    try:
        return LatestCheckpoint(named_folder(configuration, graph.name)).find()
    except CheckpointError:
        return None  # reported when the checkpoint is opened


def ended_message(checkpoint: Checkpoint) -> str:
    """What a user can do about a job whose input has ended."""
    latest = LatestCheckpoint.containing(checkpoint.folder)
    another = "without resuming it" if latest is None else f"with another name, or after {latest.folder} is deleted"
    return f"its input has ended, so there is nothing left to do. To process the input again, start the job {another}"
