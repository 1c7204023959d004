"""Matches a savepoint with a job: the tables of each level, the start positions of sources, and parts that the job lacks.

A job that cannot be restored is rejected here. The comparison itself is that of `penstock savepoints check`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.engine.program.declared_state import declared_states
from penstock.engine.program.program import Program
from penstock.errors import CheckpointError
from penstock.runtime.relational.evolution.comparison import REBUILT
from penstock.runtime.relational.evolution.table_rewrite import TableRewrite
from penstock.runtime.state.evolution.key_forms import KeyForm
from penstock.runtime.state.tables import KEY_TABLE, StateTable
from penstock.savepoints.check import RestoreCheck, check_restore
from penstock.savepoints.clocks import SavedClocks
from penstock.savepoints.evolution import INCOMPATIBLE, KeyChanges, StateChanges, resolve_state
from penstock.savepoints.manifest import Manifest, SavedState
from penstock.savepoints.parts import UNUSED, UnclaimedPart, compare_parts, unclaimed_parts
from penstock.savepoints.queries.query_match import QueryVerdict
from penstock.savepoints.queries.rebuilding import changed_query_error, rebuild_queries
from penstock.savepoints.queries.renaming import renamed_manifest
from penstock.savepoints.savepoint import Savepoint


@dataclass(slots=True)
class RestoreMatch:
    """The parts of a savepoint that a job starts with."""

    clocks: SavedClocks
    tables: dict[int, list[StateTable]] = field(default_factory=dict)  # by level; the numbers are the same in all slots
    offsets: dict[str, Any] = field(default_factory=dict)  # by source number, and of "control"
    sinks: dict[str, Any] = field(default_factory=dict)  # the stored data of sinks, by uid
    restored: list[str] = field(default_factory=list)  # uids of operators with saved state
    added: list[str] = field(default_factory=list)  # uids of operators that start empty
    dropped: list[UnclaimedPart] = field(default_factory=list)
    state_changes: StateChanges = field(default_factory=dict)  # states whose values are rewritten when slots load them
    key_changes: KeyChanges = field(default_factory=dict)  # operators whose keys are rewritten
    key_forms: dict[str, list[KeyForm]] = field(default_factory=dict)  # operators whose first keys are compared
    renamed: dict[str, str] = field(
        default_factory=dict
    )  # operators of queries: from the uid in the savepoint to that of the job
    rewrites: dict[tuple[str, str], TableRewrite] = field(default_factory=dict)  # tables of queries, by uid and name
    verdicts: list[QueryVerdict] = field(default_factory=list)


def match_savepoint(
    savepoint: Savepoint, program: Program, allow_dropped: bool = False, rebuild: bool = False
) -> RestoreMatch:
    """Looks up the parts of a job in a savepoint by their uids, operators of queries by their meaning, and compares them.

    With `rebuild`, parts of queries whose state cannot be kept start empty and read their tables from the start.

    Raises:
        CheckpointError: a part, state or key is incompatible, or the savepoint has parts that the job lacks, and
            `allow_dropped` is not set.
    """
    where = savepoint.path
    checked = check_restore(savepoint, program, also_new=False)
    if rebuild:
        rebuild_queries(checked.queries, program)
        checked.manifest = renamed_manifest(savepoint.manifest, checked.queries)
        checked.parts = compare_parts(checked.manifest, program)
    manifest = checked.manifest
    assert manifest is not None
    for part in checked.parts:
        if part.verdict == INCOMPATIBLE:
            raise part.error()
    matched = RestoreMatch(SavedClocks(manifest))
    _match_operators(manifest, program, matched)
    _match_sources(manifest, program, matched)
    matched.renamed, matched.rewrites = checked.queries.operators, checked.queries.rewrites
    matched.verdicts = checked.queries.verdicts
    _match_tables(program, matched)
    matched.dropped = unclaimed_parts(manifest, program)
    if rebuild:
        matched.dropped = [part for part in matched.dropped if not part.uid.endswith(UNUSED)]
    elif matched.dropped and not allow_dropped and checked.queries.of(REBUILT):
        raise changed_query_error(where, checked.queries, program)
    if matched.dropped and not allow_dropped:
        raise _unclaimed_error(where, matched, program)
    if checked.incompatible():
        raise _incompatible_error(where, checked, program)
    sinks = set(program.sink_uids)
    matched.sinks = {s.uid: s.memory for s in manifest.sinks if s.uid in sinks and s.memory is not None}
    _apply_type_changes(checked, program, matched)
    matched.key_forms = {} if allow_dropped else checked.key_forms
    return matched


def _match_operators(manifest: Manifest, program: Program, matched: RestoreMatch) -> None:
    saved = {o.uid: o for o in manifest.operators}
    for operator in program.operators:
        (matched.restored if operator.uid in saved else matched.added).append(operator.uid)
    for level in range(1, program.depth + 1):
        states = [
            (o.uid, state) for o in program.operators_at(level) if o.uid in saved for state in saved[o.uid].states
        ]
        states.sort(key=lambda pair: (pair[0], pair[1].name))
        matched.tables[level] = [saved_table(number, uid, state) for number, (uid, state) in enumerate(states, 1)]


def _match_tables(program: Program, matched: RestoreMatch) -> None:
    """Sets the new types of the tables of queries. Tables that an operator does not have any more are not loaded."""
    kept = set(matched.renamed.values())
    declared = declared_states(program, kept) if kept else {}
    for level, tables in matched.tables.items():
        found = []
        for table in tables:
            opened = declared[table.operator] if table.operator in kept else None
            if opened is not None and opened.error is None:
                if table.name.startswith("__"):  # timers, for example, which belong to the host of the operator
                    found.append(table)
                    continue
                if table.name not in opened.tables:
                    continue
                table = msgspec.structs.replace(table, schema=opened.tables[table.name].schema)
            found.append(table)
        matched.tables[level] = found


def saved_table(number: int, operator: str, state: SavedState) -> StateTable:
    """The table of a state that is restored unchanged."""
    type_ = "" if state.type is None else msgspec.json.encode(state.type).decode()
    return StateTable(number, operator, state.name, state.kind, state.schema, type=type_, ttl=state.ttl or 0)


def _apply_type_changes(checked: RestoreCheck, program: Program, matched: RestoreMatch) -> None:
    """Records in `matched` the states and keys that are restored with another type."""
    for tables in matched.tables.values():
        for at, table in enumerate(tables):
            if (change := checked.changes.get((table.operator, table.name))) is not None:
                tables[at] = change[1].table(table.number, table.operator)
    matched.state_changes = {k: c for k, c in checked.changes.items() if resolve_state(*c).migrate is not None}
    matched.key_changes = checked.key_changes
    for level, tables in matched.tables.items():
        with_key_table = {t.operator for t in tables if t.name == KEY_TABLE}
        missing = [
            o.uid for o in program.operators_at(level) if o.uid in checked.key_changes and o.uid not in with_key_table
        ]
        first = max((t.number for t in tables), default=0) + 1  # tables that are not loaded leave gaps
        tables += [StateTable(number, uid, KEY_TABLE, "keys", "pickle") for number, uid in enumerate(missing, first)]


def _match_sources(manifest: Manifest, program: Program, matched: RestoreMatch) -> None:
    saved = {s.uid: s for s in manifest.sources}
    numbers: dict[int, int] = {}
    for source in program.sources:
        if (before := saved.get(source.uid)) is not None:
            if before.position is not None:
                matched.offsets[str(source.number)] = before.position
            numbers[before.number] = source.number
    matched.offsets["control"] = _control(manifest, numbers)


def _control(manifest: Manifest, numbers: dict[int, int]) -> dict[str, Any]:
    """The offset of the control source, with the source numbers of the job."""
    offset = manifest.control or {}

    def renumber(table: dict[str, Any]) -> dict[str, Any]:
        return {str(numbers[int(n)]): splits for n, splits in table.items() if int(n) in numbers}

    ended = {} if manifest.ended == "drain" else renumber(offset.get("ended") or {})
    return {
        "n": offset.get("n", 0),
        "clock": offset.get("clock"),
        "known": renumber(offset.get("known") or {}),
        "ended": ended,
    }


def _unclaimed_error(where: str, matched: RestoreMatch, program: Program) -> CheckpointError:
    new = ", ".join(f"'{uid}'" for uid in matched.added)
    hint = f" New in the job: {new}. An operator that was renamed needs its old uid." if new else ""
    return CheckpointError(
        "SAVEPOINT_STATE_UNCLAIMED",
        f"The savepoint {where} contains parts that job '{program.name}' does not have: "
        f"{'; '.join(map(str, matched.dropped))}.{hint} "
        "Set the old uids for the operators, or drop this state with --allow-dropped-state "
        "(execution.state-recovery.ignore-unclaimed-state).",
    )


def _incompatible_error(where: str, checked: RestoreCheck, program: Program) -> CheckpointError:
    incompatible = checked.incompatible()
    details = "; ".join(f"{row.operator}: {row.state}: {', '.join(row.differences)}" for row in incompatible)
    return CheckpointError(
        "SAVEPOINT_STATE_INCOMPATIBLE",
        f"The savepoint {where} has state that job '{program.name}' cannot restore: {details}. "
        f"Possible solutions: {incompatible[0].todo}. 'penstock savepoints check {where} JOB.PY' shows all states.",
    )
