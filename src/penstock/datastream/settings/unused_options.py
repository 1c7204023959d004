"""Options that are set but have no effect on a job, because of its other options, its mode or its sources."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.config import Configuration, Option
from penstock.config.checkpoint_options import CHECKPOINT_INTERVAL, CHECKPOINT_PAUSE, CHECKPOINT_SHARE
from penstock.config.execution_options import BATCH_RECORDS, HEARTBEAT, TRIGGER_INTERVAL
from penstock.config.registry import options
from penstock.config.rescale_options import RESCALE_POLICY
from penstock.config.restart_options import RESTARTS
from penstock.plan.graph import JobGraph

_STREAMING_ONLY = (TRIGGER_INTERVAL, HEARTBEAT, CHECKPOINT_PAUSE, CHECKPOINT_SHARE)
_RESCALING = "execution.rescale."
_OWN_PURPOSE = (f"{_RESCALING}policy", f"{_RESCALING}parallelism")  # not settings of the policy
_RESTARTING = "restart-strategy."


def unused_options(configuration: Configuration, graph: JobGraph) -> Iterator[str]:
    """Yields a message for each option that is set and has no effect on a job.

    >>> list(unused_options(Configuration({"execution.heartbeat": "1 s"}), JobGraph("job", (), batch_mode=True)))
    ["Option 'execution.heartbeat' has no effect in batch mode. It applies to streaming jobs."]
    """
    if graph.batch_mode:
        for option in _STREAMING_ONLY:
            if _differs(configuration, option):
                yield f"Option '{option.key}' has no effect in batch mode. It applies to streaming jobs."
    elif native := [node.name for node in graph.sources if node.source.native]:
        for option in (CHECKPOINT_PAUSE, CHECKPOINT_SHARE):
            if _differs(configuration, option):
                yield (
                    f"Option '{option.key}' has no effect on the streaming DataFrame '{native[0]}', whose batches Spark starts. "
                    f"Set {TRIGGER_INTERVAL.key}."
                )
    yield from _unused_restart_options(configuration, graph.unbounded)
    if configuration.get(RESCALE_POLICY) == "off":
        for option in options():
            if option.key.startswith(_RESCALING) and option.key not in _OWN_PURPOSE and _differs(configuration, option):
                yield f"Option '{option.key}' has no effect, because {RESCALE_POLICY.key} is off. Set it to on or dry-run."
    uncounted = [node.name for node in graph.sources if node.source.records_per_batch is None]
    if configuration.get(BATCH_RECORDS) and uncounted and len(uncounted) == len(graph.sources):
        yield (
            f"Option '{BATCH_RECORDS.key}' has no effect, because no source of the job counts records before it reads them "
            f"({', '.join(uncounted)}). Limit batches with the settings of the sources, such as bytes_per_batch of a FileSource."
        )


def _unused_restart_options(configuration: Configuration, unbounded: bool) -> Iterator[str]:
    """Settings of another restart strategy than that of the job."""
    kind = configuration.get(RESTARTS)
    if kind is None:
        kind = "exponential-delay" if unbounded or configuration.get(CHECKPOINT_INTERVAL) else "none"
    for option in options():
        name = option.key.removeprefix(_RESTARTING)
        if name != option.key and "." in name and not name.startswith(f"{kind}.") and _differs(configuration, option):
            yield f"Option '{option.key}' has no effect, because the restart strategy is {kind}. Set {RESTARTS.key}."


def _differs(configuration: Configuration, option: Option) -> bool:
    return configuration.is_set(option) and configuration.get(option) != option.default
