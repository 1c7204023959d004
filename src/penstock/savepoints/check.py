"""Whether a job can take up a savepoint: every state of it beside what the job asks for now. Reads no entries."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.engine.program import Program
from penstock.engine.wanted import WantedStates, key_types, wanted_states
from penstock.errors import CheckpointError
from penstock.runtime.evolution.describe import describe_key, describe_state
from penstock.runtime.evolution.shape import state_shape_of
from penstock.runtime.state.backend import KEY_TABLE, Table
from penstock.savepoints.evolution import (
    AFTER_MIGRATION,
    AS_IS,
    INCOMPATIBLE,
    Changes,
    Resolution,
    StateDescription,
    resolution,
)
from penstock.savepoints.key_change import KeyChange, KeyChanges
from penstock.savepoints.manifest import Manifest, SavedOperator, SavedState
from penstock.savepoints.matching import Matched
from penstock.state import StateDescriptor
from penstock.types import TypeInformation

NEW, DROPPED, UNKNOWN = "new", "dropped", "not known before the job runs"
KEY_ROW = "(key)"  # stands where a state's name does, in the line of an operator's keys
_OURS = ("timers", "keys")  # tables of the engine's own, which have one form


@dataclass(frozen=True, slots=True)
class StateCheck:
    """One state of an operator: what was saved, what the job asks for, and what becomes of it."""

    operator: str  # uid
    state: str  # the name of its table; or KEY_ROW
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
    keys: KeyChanges = field(default_factory=dict)  # operators whose keys are rewritten

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
    matched.keys = checked.keys
    for level, tables in matched.tables.items():
        kept = {t.operator for t in tables if t.name == KEY_TABLE}
        missing = [o.uid for o in program.operators_at(level) if o.uid in checked.keys and o.uid not in kept]
        tables += [
            Table(number, uid, KEY_TABLE, "keys", "pickle") for number, uid in enumerate(missing, len(tables) + 1)
        ]
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
        if (key := keys.get(operator.uid)) is not None and any(s.entries for s in before.states):
            _check_keys(before, key, found)
        _check_operator(before, wanted.get(operator.uid, WantedStates()), found)
    for gone in saved.values():
        found.rows += [
            StateCheck(gone.uid, s.name, _before(s), "-", DROPPED, [], _DROP) for s in gone.states if s.entries
        ]
    return found


_MEND_KEY = (
    "change the key's type back, say aliases or defaults, give it version and migrate, or give the operator another uid: its "
    "state then starts empty"
)
_TRY_KEYS = (
    "whether every key can be rewritten, and no two become one, is seen when they are read: --values does it now"
)
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


def _check_keys(saved: SavedOperator, wanted: TypeInformation, found: Check) -> None:
    change = KeyChange(saved.key_type, wanted)
    compared = change.compared()
    if saved.key_type is None and compared.make is None:
        return  # was not declared before: keys are what the program makes them
    verdict, told, todo = AS_IS, compared.differences, ""
    if compared.obstacles:
        verdict, told, todo = (
            INCOMPATIBLE,
            [*(d for d in told if d not in compared.obstacles), *compared.obstacles],
            _MEND_KEY,
        )
    elif compared.make is not None:
        verdict, todo = AFTER_MIGRATION, _TRY_KEYS
        found.keys[saved.uid] = change
    before, after = change.shape.text(), describe_key(wanted).text()
    found.rows.append(StateCheck(saved.uid, KEY_ROW, before, after, verdict, told, todo))


def _before(saved: SavedState) -> str:
    known = saved.schema if saved.type is None else state_shape_of(saved.type).value.text()
    return _text(saved.kind, known)


def _text(kind: str, type_text: str) -> str:
    return f"{kind}: {type_text}"
