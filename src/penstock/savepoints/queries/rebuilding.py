"""Parts of a changed query whose state cannot be kept: they are refused, or computed again from the start of their tables."""

from __future__ import annotations

import msgspec

from penstock.engine.program.program import Program
from penstock.errors import CheckpointError
from penstock.runtime.relational.evolution.comparison import IN_PART, KEPT, REBUILT
from penstock.savepoints.queries.query_match import NEW, QueryMatch
from penstock.savepoints.queries.readers import source_readers


def rebuild_queries(match: QueryMatch, program: Program) -> None:
    """Removes from a match everything that must be computed again.

    An operator that is computed again reads its tables from their start. So does all that reads the same sources, or rows of the
    operators before it: state that already contains these rows cannot be kept.
    """
    restored = set(match.sources.values())
    connected = [{uid, *readers} for uid, readers in source_readers(program).items()]
    again = {v.operator for v in match.of(REBUILT)}
    again |= {v.operator for v in match.of(NEW) if any(v.operator in c and c & restored for c in connected)}
    parts = again
    while True:
        grown = parts.union(*(component for component in connected if component & parts))
        if grown == parts:
            break
        parts = grown
    if not parts:
        return
    causes = ", ".join(sorted(again))
    match.unused |= {old for old, new in match.operators.items() if new in parts}
    match.operators = {old: new for old, new in match.operators.items() if new not in parts}
    match.sources = {old: new for old, new in match.sources.items() if new not in parts}
    match.rewrites = {at: rewrite for at, rewrite in match.rewrites.items() if at[0] not in parts}
    for at, verdict in enumerate(match.verdicts):
        if verdict.operator in parts and verdict.verdict in (KEPT, IN_PART):
            reason = f"it is connected with {causes}, which is computed again"
            match.verdicts[at] = msgspec.structs.replace(verdict, verdict=REBUILT, reasons=(*verdict.reasons, reason))


def changed_query_error(where: str, match: QueryMatch, program: Program) -> CheckpointError:
    """The error of a job that would lose state of a query."""
    details = ". ".join(str(verdict) for verdict in match.of(REBUILT))
    return CheckpointError(
        "SAVEPOINT_QUERY_CHANGED",
        f"Job '{program.name}' cannot keep all state of the savepoint {where}, because its query has changed: {details}. Compute "
        "this state again from the start of its tables with --rebuild (execution.state-recovery.rebuild), start it empty with "
        "--allow-dropped-state (execution.state-recovery.ignore-unclaimed-state), or change the query back. "
        f"'penstock savepoints check {where} NEW.SQL' shows all states.",
    )
