"""Whether a job can take up a savepoint: every state of it beside what the job asks for now. Reads no entries."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.engine.program import Program
from penstock.engine.wanted import WantedStates, key_types, wanted_states
from penstock.errors import CheckpointError
from penstock.runtime.evolution.describe import describe, describe_state
from penstock.runtime.evolution.keys import compare_keys
from penstock.runtime.evolution.shape import shape_of_plain, state_shape_of
from penstock.savepoints.evolution import (
    AFTER_MIGRATION,
    AS_IS,
    INCOMPATIBLE,
    Changes,
    Resolution,
    StateDescription,
    resolution,
)
from penstock.savepoints.manifest import Manifest, SavedOperator, SavedState
from penstock.savepoints.matching import Matched
from penstock.state import StateDescriptor

NEW, DROPPED, UNKNOWN = "new", "dropped", "not known before the job runs"
_OURS = ("timers", "keys")  # tables of the engine's own, which have one form


@dataclass(frozen=True, slots=True)
class StateCheck:
    """One state of an operator: what was saved, what the job asks for, and what becomes of it."""

    operator: str  # uid
    state: str  # the name of its table; "" stands for the operator itself
    before: str
    after: str
    verdict: str
    differences: list[str] = field(default_factory=list)
    todo: str = ""

    @property
    def fits(self) -> bool:
        return self.verdict not in (INCOMPATIBLE, DROPPED)


@dataclass(slots=True)
class Check:
    """All states of a savepoint beside those of a job."""

    rows: list[StateCheck] = field(default_factory=list)
    changes: Changes = field(default_factory=dict)  # states that are taken over, as the job describes them

    @property
    def fits(self) -> bool:
        """Whether the job can start from the savepoint without dropping anything."""
        return all(row.fits for row in self.rows)

    def incompatible(self) -> list[StateCheck]:
        return [row for row in self.rows if row.verdict == INCOMPATIBLE]


def fit(manifest: Manifest, program: Program, matched: Matched, where: str) -> Check:
    """Compares all states, and lets a job take over those that fit as it describes them now; refuses others."""
    checked = check(manifest, program, also_new=False)
    if wrong := checked.incompatible():
        told = "; ".join(f"{row.operator}: {row.state}: {', '.join(row.differences)}" for row in wrong)
        raise CheckpointError(
            "SAVEPOINT_STATE_INCOMPATIBLE",
            f"The savepoint {where} has state that job '{program.name}' cannot take over: {told}. "
            f"What can be done: {wrong[0].todo}. 'penstock savepoints check {where} JOB.PY' shows all states.",
        )
    for tables in matched.tables.values():
        for at, table in enumerate(tables):
            if (change := checked.changes.get((table.operator, table.name))) is not None:
                tables[at] = change[1].table(table.number, table.operator)
    matched.changes = {k: c for k, c in checked.changes.items() if resolution(*c).migrate is not None}
    return checked


def check(manifest: Manifest, program: Program, also_new: bool = True) -> Check:
    """Compares all states. The job's functions are opened on the driver to hear what they ask for.

    Without `also_new` only operators that have something saved are opened.
    """
    kept = {o.uid for o in manifest.operators if any(s.kind not in _OURS for s in o.states)}
    wanted, keys, found = wanted_states(program, None if also_new else kept), key_types(program), Check()
    saved = {o.uid: o for o in manifest.operators}
    for operator in program.operators:
        before = saved.pop(operator.uid, None)
        if before is None:
            if operator.uid in wanted:
                found.rows += [_added(operator.uid, n, d) for n, d in wanted[operator.uid].states.items()]
            continue
        if (key := keys.get(operator.uid)) is not None and before.key_type is not None:
            found.rows += _key_row(before, describe(key).plain())
        _check_operator(before, wanted.get(operator.uid, WantedStates()), found)
    for gone in saved.values():
        found.rows += [
            StateCheck(gone.uid, s.name, _before(s), "-", DROPPED, [], _DROP) for s in gone.states if s.entries
        ]
    return found


_DROP = "give an operator its uid again, or start with --allow-dropped-state"
_LATER = "is compared when the function asks for it; ask in open() to know it before"


def _check_operator(saved: SavedOperator, wanted: WantedStates, found: Check) -> None:
    states = dict(wanted.states)
    for state in saved.states:
        descriptor = states.pop(state.name, None)
        if state.kind in _OURS or (state.kind == "times" and state.type is None):
            continue
        if descriptor is None:
            found.rows.append(_not_asked_for(saved.uid, state, wanted))
            continue
        description = StateDescription(state.name, descriptor)
        resolved = resolution(state, description)
        found.rows.append(_row(saved.uid, state, description, resolved))
        if resolved.verdict != INCOMPATIBLE:
            found.changes[saved.uid, state.name] = (state, description)
    found.rows += [_added(saved.uid, name, descriptor) for name, descriptor in states.items()]


def _row(uid: str, saved: SavedState, wanted: StateDescription, resolved: Resolution) -> StateCheck:
    after = _text(wanted.kind, describe_state(wanted.descriptor).value.text())
    todo = ""
    if resolved.verdict == INCOMPATIBLE:
        todo = (
            "change the type back, say aliases or defaults, give it version and migrate, or give the state a new name"
        )
    elif resolved.checked and resolved.verdict == AFTER_MIGRATION:
        todo = "values are checked when they are read: --values does it now"
    return StateCheck(uid, saved.name, _before(saved), after, resolved.verdict, resolved.differences, todo)


def _added(uid: str, name: str, descriptor: StateDescriptor) -> StateCheck:
    return StateCheck(uid, name, "-", _text(descriptor.kind, describe_state(descriptor).value.text()), NEW)


def _not_asked_for(uid: str, saved: SavedState, wanted: WantedStates) -> StateCheck:
    """Nobody asked for it in open(): it may be asked for later, and is kept until then."""
    told = [] if wanted.error is None else [f"open() raised {type(wanted.error).__name__}: {wanted.error}"]
    return StateCheck(uid, saved.name, _before(saved), "?", UNKNOWN, told, _LATER)


def _key_row(saved: SavedOperator, wanted: object) -> list[StateCheck]:
    before, after = shape_of_plain(saved.key_type), shape_of_plain(wanted)
    compared = compare_keys(before, after)
    if not compared.differences:
        return []
    verdict = INCOMPATIBLE if compared.obstacles else AS_IS
    todo = "change the key's type back, or give the operator another uid: its state then starts empty"
    told = compared.obstacles or compared.differences
    return [
        StateCheck(saved.uid, "(key)", before.text(), after.text(), verdict, told, todo if compared.obstacles else "")
    ]


def _before(saved: SavedState) -> str:
    known = saved.schema if saved.type is None else state_shape_of(saved.type).value.text()
    return _text(saved.kind, known)


def _text(kind: str, type_text: str) -> str:
    return f"{kind}: {type_text}"
