"""Checks whether a job can start from a savepoint, by comparing the types of all states and keys. Reads no entries."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.engine.program.declared_state import DeclaredStates, declared_states, key_types
from penstock.engine.program.pickling import activate_classes
from penstock.engine.program.program import Program
from penstock.errors import CheckpointError
from penstock.runtime.state.evolution.describe import describe_key, describe_state
from penstock.runtime.state.evolution.shape import read_state_shape
from penstock.runtime.state.tables import KEY_TABLE, StateTable
from penstock.savepoints.evolution import (
    AFTER_MIGRATION,
    AS_IS,
    INCOMPATIBLE,
    DeclaredState,
    KeyChange,
    KeyChanges,
    StateChanges,
    StateResolution,
    resolve_state,
)
from penstock.savepoints.manifest import Manifest, SavedOperator, SavedState
from penstock.savepoints.matching import RestoreMatch
from penstock.state import StateDescriptor
from penstock.types import TypeInformation

NEW, DROPPED, UNKNOWN = "new", "dropped", "not known before the job runs"
KEY_ROW = "(key)"  # in place of a state name, for the keys of an operator
_INTERNAL_KINDS = ("timers", "keys")  # tables whose format never changes


@dataclass(frozen=True, slots=True)
class StateCheck:
    """One state of an operator: the saved type, the declared type, and whether it can be restored."""

    operator: str  # uid
    state: str  # the name of its table, or KEY_ROW
    before: str
    after: str
    verdict: str
    differences: list[str] = field(default_factory=list)
    todo: str = ""

    @property
    def compatible(self) -> bool:
        return self.verdict not in (INCOMPATIBLE, DROPPED)


@dataclass(slots=True)
class RestoreCheck:
    """The results for all states of a savepoint and of a job."""

    rows: list[StateCheck] = field(default_factory=list)
    changes: StateChanges = field(default_factory=dict)  # states that are restored, and their declarations
    key_changes: KeyChanges = field(default_factory=dict)  # operators whose keys are rewritten

    @property
    def compatible(self) -> bool:
        """Whether the job can start from the savepoint without dropping anything."""
        return all(row.compatible for row in self.rows)

    def incompatible(self) -> list[StateCheck]:
        return [row for row in self.rows if row.verdict == INCOMPATIBLE]


def apply_type_changes(manifest: Manifest, program: Program, matched: RestoreMatch, where: str) -> RestoreCheck:
    """Compares all states, and records in `matched` those that are restored with another type.

    Raises:
        CheckpointError: a state or key type is incompatible.
    """
    checked = check_restore(manifest, program, also_new=False)
    if incompatible := checked.incompatible():
        details = "; ".join(f"{row.operator}: {row.state}: {', '.join(row.differences)}" for row in incompatible)
        raise CheckpointError(
            "SAVEPOINT_STATE_INCOMPATIBLE",
            f"The savepoint {where} has state that job '{program.name}' cannot restore: {details}. "
            f"Possible solutions: {incompatible[0].todo}. 'penstock savepoints check {where} JOB.PY' shows all states.",
        )
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
        tables += [
            StateTable(number, uid, KEY_TABLE, "keys", "pickle") for number, uid in enumerate(missing, len(tables) + 1)
        ]
    return checked


def check_restore(manifest: Manifest, program: Program, also_new: bool = True) -> RestoreCheck:
    """Compares all states. Functions of the job are opened on the driver to collect the states that they declare.

    Without `also_new` only the functions of operators with saved state are opened.
    """
    activate_classes(program)  # values and keys in the savepoint may be pickled objects of its classes
    with_state = {o.uid for o in manifest.operators if any(s.kind not in _INTERNAL_KINDS for s in o.states)}
    declared, keys, result = (
        declared_states(program, None if also_new else with_state),
        key_types(program),
        RestoreCheck(),
    )
    saved = {o.uid: o for o in manifest.operators}
    for operator in program.operators:
        before = saved.pop(operator.uid, None)
        if before is None:
            if operator.uid in declared:
                result.rows += [_new_row(operator.uid, n, d) for n, d in declared[operator.uid].states.items()]
            continue
        if (key := keys.get(operator.uid)) is not None and any(s.entries for s in before.states):
            _check_keys(before, key, result)
        _check_operator(before, declared.get(operator.uid, DeclaredStates()), result)
    for removed in saved.values():
        result.rows += [
            StateCheck(removed.uid, s.name, _before(s), "-", DROPPED, [], _DROP_ADVICE)
            for s in removed.states
            if s.entries
        ]
    return result


_KEY_ADVICE = (
    "change the key type back, declare aliases or defaults, declare version and migrate, or set another uid for the operator, "
    "whose state then starts empty"
)
_KEY_TRIAL_ADVICE = "keys that cannot be rewritten or collide are result when they are read; --values reads them now"
_DROP_ADVICE = "set the old uid for an operator, or start with --allow-dropped-state"
_UNKNOWN_ADVICE = "is comparison when the function requests it; request it in open() to check it earlier"


def _check_operator(saved: SavedOperator, declared: DeclaredStates, result: RestoreCheck) -> None:
    states = dict(declared.states)
    for state in saved.states:
        descriptor = states.pop(state.name, None)
        if state.kind in _INTERNAL_KINDS or (state.kind == "times" and state.type is None):
            continue
        if descriptor is None:
            result.rows.append(_undeclared_row(saved.uid, state, declared))
            continue
        description = DeclaredState(state.name, descriptor)
        resolved = resolve_state(state, description)
        result.rows.append(_compared_row(saved.uid, state, description, resolved))
        if resolved.verdict != INCOMPATIBLE:
            result.changes[saved.uid, state.name] = (state, description)
    result.rows += [_new_row(saved.uid, name, descriptor) for name, descriptor in states.items()]


def _compared_row(uid: str, saved: SavedState, declared: DeclaredState, resolved: StateResolution) -> StateCheck:
    after = _text(declared.kind, describe_state(declared.descriptor).value.text())
    todo = ""
    if resolved.verdict == INCOMPATIBLE:
        todo = "change the type back, declare aliases or defaults, declare version and migrate, or rename the state"
    elif resolved.checked and resolved.verdict == AFTER_MIGRATION:
        todo = "values are checked when they are read; --values reads them now"
    return StateCheck(uid, saved.name, _before(saved), after, resolved.verdict, resolved.differences, todo)


def _new_row(uid: str, name: str, descriptor: StateDescriptor) -> StateCheck:
    return StateCheck(uid, name, "-", _text(descriptor.kind, describe_state(descriptor).value.text()), NEW)


def _undeclared_row(uid: str, saved: SavedState, declared: DeclaredStates) -> StateCheck:
    """A saved state that no function requested in open(). It is restored, because it may be requested later."""
    problems = [] if declared.error is None else [f"open() raised {type(declared.error).__name__}: {declared.error}"]
    return StateCheck(uid, saved.name, _before(saved), "?", UNKNOWN, problems, _UNKNOWN_ADVICE)


def _check_keys(saved: SavedOperator, declared: TypeInformation, result: RestoreCheck) -> None:
    change = KeyChange(saved.key_type, declared)
    comparison = change.compare()
    if saved.key_type is None and comparison.convert is None:
        return  # the key type was not declared before, and the keys stay unchanged
    verdict, differences, todo = AS_IS, comparison.differences, ""
    if comparison.obstacles:
        verdict, differences, todo = (
            INCOMPATIBLE,
            [*(d for d in differences if d not in comparison.obstacles), *comparison.obstacles],
            _KEY_ADVICE,
        )
    elif comparison.convert is not None:
        verdict, todo = AFTER_MIGRATION, _KEY_TRIAL_ADVICE
        result.key_changes[saved.uid] = change
    before, after = change.shape.text(), describe_key(declared).text()
    result.rows.append(StateCheck(saved.uid, KEY_ROW, before, after, verdict, differences, todo))


def _before(saved: SavedState) -> str:
    known = saved.schema if saved.type is None else read_state_shape(saved.type).value.text()
    return _text(saved.kind, known)


def _text(kind: str, type_text: str) -> str:
    return f"{kind}: {type_text}"
