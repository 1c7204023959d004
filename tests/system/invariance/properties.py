"""Properties of programs that decide which inputs and runs are compared (docs/reference/batch-boundaries.md)."""

from __future__ import annotations

from tests.system.invariance import program as p


def uses_processing_time(program: p.Program) -> bool:
    """Returns whether results depend on processing time. Then elements with different processing times need different batches."""
    return any(map(_source_uses_clock, program.sources)) or any(
        _uses_clock(stage.operation) for stage in program.stages
    )


def uses_idleness(program: p.Program) -> bool:
    return any(source.idle for source in program.sources)


def _source_uses_clock(source: p.SourceSpec) -> bool:
    return isinstance(source.watermarks, p.Ingestion) or source.idle > 0


def _uses_clock(operation: p.Operation) -> bool:
    states = getattr(operation, "states", ())
    timers = getattr(operation, "timers", ())
    if any(s.ttl for s in states) or any(t.domain == "processing" for t in timers):
        return True
    match operation:
        case p.Match(time="processing"):
            return True
        case p.Window(assigner, trigger=trigger) | p.CoGroup(assigner, trigger=trigger):
            return assigner_uses_clock(assigner) or (trigger is not None and trigger.kind in CLOCK_TRIGGERS)
        case p.WindowJoin(assigner):
            return assigner_uses_clock(assigner)
    return False


CLOCK_TRIGGERS = ("processing", "continuous processing", "early", "timeout")


def assigner_uses_clock(assigner: p.Assigner) -> bool:
    return getattr(assigner, "time", "event") == "processing"


def clock_cuts(program: p.Program, items: tuple[p.Item, ...]) -> set[int]:
    """Returns the cuts that every run needs: processing time is constant within a batch (time-rules 7.1)."""
    if program.reads or not uses_processing_time(program):
        return set()
    return {n for n in range(1, len(items)) if items[n].clock != items[n - 1].clock}


def restarts(program: p.Program, run: p.Run) -> tuple[int, ...]:
    """Returns the batches before which a run restarts, if this changes batches.

    Alignment begins again (time-rules 2.9), and the source looks for files at once.
    """
    changes_batches = any(source.drift for source in program.sources) or run.found
    return (*run.restores, *(rescale.batch for rescale in run.rescales)) if changes_batches else ()


def ordered_outputs(program: p.Program) -> set[str]:
    """Returns the stages whose output is a sequence per key: those that do not merge elements of different paths.

    A keyed operator sorts its input, a sink does not.
    """
    several_splits = sum(len(source.splits) for source in program.sources) > 1
    merges = [several_splits] * len(program.sources)
    for stage in program.stages:
        inputs = any(merges[i] for i in stage.inputs)
        merges.append(_merges(stage.operation) or (inputs and isinstance(stage.operation, _WITHOUT_KEYS)))
    return {f"stage{n}" for n, merged in enumerate(merges[len(program.sources) :]) if not merged}


def _merges(operation: p.Operation) -> bool:
    """Whether results of one source record may come from different subtasks."""
    return isinstance(operation, (p.Union, p.CoMap, p.CoProcess)) or (
        isinstance(operation, p.Broadcast) and operation.by is None
    )


_WITHOUT_KEYS = (p.Map, p.Filter, p.FlatMap, p.Async, p.Separate, p.Side, p.Partition, p.Assign)
