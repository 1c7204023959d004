"""Checks whether a job can start from a savepoint, by comparing all parts, and the types of all states and keys.

Reads no entries, except a sample of the keys whose type was not declared.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.engine.program.declared_state import DeclaredStates, declared_states, key_types
from penstock.engine.program.pickling import activate_classes
from penstock.engine.program.program import Program
from penstock.errors import StateError
from penstock.runtime.state.evolution.describe import describe_key, describe_state
from penstock.runtime.state.evolution.key_change import UNDECLARED
from penstock.runtime.state.evolution.key_forms import KeyForm, fits_type, form_text, forms_text
from penstock.runtime.state.evolution.shape import read_shape, read_state_shape
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
from penstock.savepoints.parts import DROPPED, NEW, UNUSED, PartCheck, compare_parts
from penstock.savepoints.queries.query_match import QueryMatch, match_queries
from penstock.savepoints.queries.renaming import renamed_manifest
from penstock.savepoints.sampled_keys import has_keys, sample_key_forms
from penstock.savepoints.savepoint import Savepoint
from penstock.state import StateDescriptor
from penstock.types import TypeInformation

UNKNOWN = "not known before the job runs"
KEY_ROW = "(key)"  # in place of a state name, for the keys of an operator
_INTERNAL_KINDS = (
    "timers",
    "keys",
    "rows",
)  # formats that never change, and tables of SQL, which are compared when they open


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
    """The results for all parts and states of a savepoint and of a job."""

    parts: list[PartCheck] = field(default_factory=list)  # operators, sources and sinks
    rows: list[StateCheck] = field(default_factory=list)  # states and keys
    changes: StateChanges = field(default_factory=dict)  # states that are restored, and their declarations
    key_changes: KeyChanges = field(default_factory=dict)  # operators whose keys are rewritten
    # Operators whose key type is not declared, with the forms of the saved keys. Their first keys are compared with them.
    key_forms: dict[str, list[KeyForm]] = field(default_factory=dict)
    queries: QueryMatch = field(default_factory=QueryMatch)  # operators of queries, which are found by their meaning
    manifest: Manifest | None = None  # of the savepoint, with the uids of the job

    @property
    def compatible(self) -> bool:
        """Whether the job can start from the savepoint without dropping anything."""
        rows, parts = (all(one.compatible for one in some) for some in (self.rows, self.parts))
        return rows and parts and not self.queries.loses_state

    def incompatible(self) -> list[StateCheck]:
        return [row for row in self.rows if row.verdict == INCOMPATIBLE]


def check_restore(savepoint: Savepoint, program: Program, also_new: bool = True) -> RestoreCheck:
    """Compares a savepoint with a job. Functions of the job are opened on the driver to collect the states that they declare.

    Without `also_new` only the functions of operators with saved state are opened.
    """
    activate_classes(program)  # values and keys in the savepoint may be pickled objects of its classes
    queries = match_queries(savepoint.manifest, program)
    manifest = renamed_manifest(savepoint.manifest, queries)
    with_state = {o.uid for o in manifest.operators if any(s.kind not in _INTERNAL_KINDS for s in o.states)}
    declared, keys, result = (
        declared_states(program, None if also_new else with_state),
        key_types(program),
        RestoreCheck(compare_parts(manifest, program), queries=queries, manifest=manifest),
    )
    changed = {
        p.uid for p in result.parts if p.part == "operator" and not p.compatible
    }  # their states are not compared
    saved = {o.uid: o for o in manifest.operators}
    relational = {o.uid for o in program.operators if o.spec.kind == "relational"}  # compared by their meaning
    undeclared = {o.uid for o in manifest.operators if o.key_type is None and has_keys(o)} - relational
    forms = sample_key_forms(savepoint, undeclared & {o.uid for o in program.operators} - changed)
    for operator in program.operators:
        before = saved.pop(operator.uid, None)
        if before is None:
            if operator.uid in declared:
                result.rows += [_new_row(operator.uid, n, d) for n, d in declared[operator.uid].states.items()]
            continue
        if operator.uid in changed:
            continue
        without_keys = (
            operator.traits.generates_watermarks or operator.uid in relational
        )  # keys of generators are splits
        if has_keys(before) and not without_keys:
            _check_keys(before, keys.get(operator.uid), forms.get(operator.uid, []), result)
        _check_operator(before, declared.get(operator.uid, DeclaredStates()), result)
    for removed in saved.values():
        if removed.uid.endswith(UNUSED):
            continue  # its verdict is among `queries`
        result.rows += [
            StateCheck(removed.uid, s.name, _before(s), "-", DROPPED, [], _DROP_ADVICE)
            for s in removed.states
            if s.entries
        ]
    return result


_STATE_ADVICE = "change the type back, declare aliases or defaults, declare version and migrate, or rename the state"
_OPERATOR_ADVICE = "change the operator back, or set another uid for it and restore with --allow-dropped-state"
_KEY_ADVICE = (
    "change the key type back, declare aliases or defaults, declare version and migrate, or set another uid for the operator, "
    "whose state then starts empty"
)
_UNDECLARED_KEY_ADVICE = (
    "declare the type in key_by (key_type=...), or set another uid for the operator, whose state then starts empty"
)
_UNKNOWN_KEY_ADVICE = "is compared with the keys of the first elements; declare key_type in key_by to check it earlier"
_KEY_TRIAL_ADVICE = "keys that cannot be rewritten or collide are found when they are read; --values reads them now"
_DROP_ADVICE = "set the old uid for an operator, or start with --allow-dropped-state"
_UNKNOWN_ADVICE = "is compared when the function requests it; request it in open() to check it earlier"


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
        todo = _OPERATOR_ADVICE if _is_internal(saved.name) else _STATE_ADVICE
    elif resolved.checked and resolved.verdict == AFTER_MIGRATION:
        todo = "values are checked when they are read; --values reads them now"
    return StateCheck(uid, saved.name, _before(saved), after, resolved.verdict, resolved.differences, todo)


def _new_row(uid: str, name: str, descriptor: StateDescriptor) -> StateCheck:
    return StateCheck(uid, name, "-", _text(descriptor.kind, describe_state(descriptor).value.text()), NEW)


def _undeclared_row(uid: str, saved: SavedState, declared: DeclaredStates) -> StateCheck:
    """A saved state that no function requested in open(). It is restored, because it may be requested later.

    States of the operator itself are always requested when it is opened, so it can no longer use such a state.
    """
    error = declared.error
    if isinstance(error, StateError):  # of a state that the function requests, so the job would fail, too
        return StateCheck(uid, saved.name, _before(saved), "?", INCOMPATIBLE, [f"open() raised {error}"], _STATE_ADVICE)
    if error is None and saved.entries and _is_internal(saved.name):
        differences = ["the operator stores its state in another form now"]
        return StateCheck(uid, saved.name, _before(saved), "-", INCOMPATIBLE, differences, _OPERATOR_ADVICE)
    problems = [] if error is None else [f"open() raised {type(error).__name__}: {error}"]
    return StateCheck(uid, saved.name, _before(saved), "?", UNKNOWN, problems, _UNKNOWN_ADVICE)


def _is_internal(name: str) -> bool:
    """Whether a state belongs to the operator and not to the user's function, such as the contents of windows."""
    return name.rpartition(":")[2].startswith("__")


def _check_keys(
    saved: SavedOperator, declared: TypeInformation | None, forms: list[KeyForm], result: RestoreCheck
) -> None:
    if declared is None:
        _check_undeclared_keys(saved, forms, result)
        return
    change = KeyChange(saved.key_type, declared)
    comparison = change.compare()
    if saved.key_type is None and comparison.convert is None:
        _check_newly_declared_keys(saved, declared, forms, result)
        return
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


def _check_undeclared_keys(saved: SavedOperator, forms: list[KeyForm], result: RestoreCheck) -> None:
    """Keys of a program that does not declare their type. Only the running job knows which keys it has."""
    if saved.key_type is not None:
        before = read_shape(saved.key_type).text()
        differences = [f"{before} has no declared type anymore, so it is not known whether elements find their state"]
        row = StateCheck(
            saved.uid, KEY_ROW, before, UNDECLARED.text(), INCOMPATIBLE, differences, _UNDECLARED_KEY_ADVICE
        )
        result.rows.append(row)
    elif forms:
        result.key_forms[saved.uid] = forms
        before = _undeclared_text(forms)
        row = StateCheck(saved.uid, KEY_ROW, before, UNDECLARED.text(), UNKNOWN, [], _UNKNOWN_KEY_ADVICE)
        result.rows.append(row)


def _check_newly_declared_keys(
    saved: SavedOperator, declared: TypeInformation, forms: list[KeyForm], result: RestoreCheck
) -> None:
    """Keys whose type was not declared before. They stay unchanged, so they must be keys of the declared type."""
    shape = describe_key(declared)
    if unfit := [form for form in forms if not fits_type(form, shape)]:
        differences = [f"saved keys of type {form_text(form)} are not keys of type {shape.text()}" for form in unfit]
        result.rows.append(
            StateCheck(
                saved.uid, KEY_ROW, _undeclared_text(forms), shape.text(), INCOMPATIBLE, differences, _KEY_ADVICE
            )
        )


def _undeclared_text(forms: list[KeyForm]) -> str:
    return f"{forms_text(forms)} ({UNDECLARED.text()})"


def _before(saved: SavedState) -> str:
    known = saved.schema if saved.type is None else read_state_shape(saved.type).value.text()
    return _text(saved.kind, known)


def _text(kind: str, type_text: str) -> str:
    return f"{kind}: {type_text}"
