"""Matches the operators of a saved query with those of a changed one: by uid, then by meaning, then by what they have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from penstock.engine.program.declared_state import declared_states
from penstock.engine.program.program import OperatorProgram, Program
from penstock.runtime.relational.evolution.comparison import (
    IN_PART,
    KEPT,
    REBUILT,
    Comparison,
    compare_operators,
    missing_tables,
)
from penstock.runtime.relational.evolution.meaning import OperatorMeaning, read_meaning
from penstock.runtime.relational.evolution.table_rewrite import TableRewrite
from penstock.savepoints.manifest import Manifest, SavedOperator
from penstock.savepoints.queries.readers import source_readers

DROPPED, NEW = "dropped", "new"
_NUMBER = re.compile(r"^(sql-[0-9a-f]{12})-\d+$")
_LEAST = 4  # common points that make two operators the same one, changed


class QueryVerdict(msgspec.Struct, frozen=True):
    """What happens to the state of an operator of a query."""

    operator: str  # uid in the new query, or in the old one if it is dropped
    name: str
    verdict: str  # "kept", "kept in part", "rebuilt", "dropped" or "new"
    reasons: tuple[str, ...] = ()
    before: str = ""  # uid in the savepoint
    entries: int = 0

    def __str__(self) -> str:
        reasons = f": {'; '.join(self.reasons)}" if self.reasons else ""
        return f"{self.name} '{self.operator}' is {self.verdict}{reasons}"


@dataclass(slots=True)
class QueryMatch:
    """How the state of a saved query becomes that of a changed one."""

    verdicts: list[QueryVerdict] = field(default_factory=list)
    operators: dict[str, str] = field(default_factory=dict)  # kept: from the saved uid to the new one
    sources: dict[str, str] = field(default_factory=dict)
    rewrites: dict[tuple[str, str], TableRewrite] = field(default_factory=dict)  # by new uid and state
    unused: set[str] = field(default_factory=set)  # saved operators whose state is not restored

    @property
    def loses_state(self) -> bool:
        """Whether state of the savepoint is not kept."""
        return any(v.verdict in (REBUILT, DROPPED) for v in self.verdicts)

    def of(self, verdict: str) -> list[QueryVerdict]:
        """Returns the verdicts of one kind."""
        return [v for v in self.verdicts if v.verdict == verdict]


@dataclass(frozen=True, slots=True)
class _Saved:
    operator: SavedOperator
    meaning: OperatorMeaning

    @property
    def uid(self) -> str:
        return self.operator.uid

    @property
    def entries(self) -> int:
        return sum(state.entries for state in self.operator.states)

    def compare(self, new: OperatorMeaning, renamed: Mapping[str, str]) -> Comparison:
        kinds = {state.name: state.kind for state in self.operator.states}
        return compare_operators(self.meaning, new, kinds, renamed)


@dataclass(frozen=True, slots=True)
class _Current:
    operator: OperatorProgram
    meaning: OperatorMeaning


def match_queries(manifest: Manifest, program: Program) -> QueryMatch:
    """Compares all operators of queries. Those of the DataStream API are not compared here."""
    saved = [_Saved(o, m) for o in manifest.operators if (m := read_meaning(o.relation)) is not None]
    current = [_Current(o, m) for o in program.operators if (m := _meaning(o)) is not None]
    current.sort(key=lambda c: c.operator.level)
    found = QueryMatch()
    pairs = _by_id(saved, current)
    opened = declared_states(program, {one.operator.uid for one in current}) if saved else {}
    renamed: dict[str, str] = {}  # ids of operators whose state is kept and whose rows are the same
    taken = {old.uid for old in pairs.values()}
    rebuilt: dict[str, str] = {}
    for one in current:
        uid = one.operator.uid
        old = pairs.get(uid)
        if old is None:
            old = _most_similar(one.meaning, [s for s in saved if s.uid not in taken], renamed)
        if old is None:
            found.verdicts.append(QueryVerdict(uid, one.operator.name, NEW, ("it starts empty",)))
            continue
        taken.add(old.uid)
        compared = old.compare(one.meaning, renamed)
        if uid in opened and opened[uid].error is None and compared.verdict != REBUILT:
            names = [state.name for state in old.operator.states if state.entries]
            if missing := missing_tables(one.meaning, names, opened[uid].tables):
                compared.worsen("rebuilt", f"it has no table '{missing[0]}' now: it stores its state in another form")
        verdict = compared.verdict if old.entries else KEPT
        found.verdicts.append(
            QueryVerdict(uid, one.operator.name, verdict, tuple(compared.reasons), old.uid, old.entries)
        )
        if verdict == REBUILT:
            rebuilt[old.uid] = uid
            found.unused.add(old.uid)
            continue
        if compared.verdict == REBUILT:  # it has no entries, so nothing must be rewritten
            found.unused.add(old.uid)
            rebuilt[old.uid] = uid
        else:
            found.operators[old.uid] = uid
            found.rewrites |= {(uid, name): rewrite for name, rewrite in compared.rewrites.items()}
        if compared.same_rows and compared.verdict in (KEPT, IN_PART):
            renamed[old.meaning.id] = one.meaning.id
    for old in saved:
        if old.uid not in taken:
            found.unused.add(old.uid)
            reason = "the query has no operator that can use it"
            dropped = QueryVerdict(old.uid, old.operator.name, DROPPED, (reason,), old.uid, old.entries)
            found.verdicts += [dropped] if old.entries else []
    found.sources = _match_sources(manifest, program, found.operators | rebuilt)
    return found


def _meaning(operator: OperatorProgram) -> OperatorMeaning | None:
    meaning = getattr(operator.spec, "meaning", None)
    return meaning if isinstance(meaning, OperatorMeaning) else None


def _by_id(saved: Iterable[_Saved], current: Iterable[_Current]) -> dict[str, _Saved]:
    """Operators with the same id. Of several ones, those that have most in common."""
    left = list(saved)
    pairs: dict[str, _Saved] = {}
    candidates = [(_points(old.meaning, one.meaning, {}), one, old) for one in current for old in left]
    same = [c for c in candidates if c[1].meaning.id == c[2].meaning.id]
    same.sort(key=lambda c: (-c[0], c[1].operator.uid != c[2].uid))
    used: set[str] = set()
    for _, one, old in same:
        if one.operator.uid not in pairs and old.uid not in used:
            pairs[one.operator.uid] = old
            used.add(old.uid)
    return pairs


def _most_similar(new: OperatorMeaning, saved: list[_Saved], renamed: Mapping[str, str]) -> _Saved | None:
    """The saved operator that was changed to the new one, if there is one."""
    best, most = None, _LEAST - 1
    for old in saved:
        points = _points(old.meaning, new, renamed) if old.meaning.kind == new.kind else 0
        if points > most:
            best, most = old, points
    return best


def _points(old: OperatorMeaning, new: OperatorMeaning, renamed: Mapping[str, str]) -> int:
    """How much two operators have in common."""
    points = 2 * (old.facts == new.facts)
    for a, b in zip(old.inputs, new.inputs, strict=False):
        points += 3 * (renamed.get(a.base, a.base) == b.base)
        points += 3 * (sorted(a.key_texts) == sorted(b.key_texts))
        points += len({f.text for f in a.filters} & {f.text for f in b.filters})
        points += bool(set(a.columns) & set(b.columns))
    return points + len(set(old.call_texts) & set(new.call_texts)) - len(set(old.call_texts) ^ set(new.call_texts)) // 4


def base_uid(uid: str) -> str:
    """Returns a uid without the number that equal ones get.

    >>> base_uid("sql-0123456789ab-2"), base_uid("orders-2")
    ('sql-0123456789ab', 'orders-2')
    """
    found = _NUMBER.match(uid)
    return found[1] if found else uid


def _match_sources(manifest: Manifest, program: Program, operators: Mapping[str, str]) -> dict[str, str]:
    """The sources of queries by the operators and sinks that read them, because a table may be read several times.

    A source with other readers is a new one, which starts where its table says.
    """
    pairs: dict[str, str] = {}
    readers = {uid: set(found) for uid, found in source_readers(program).items()}
    for saved in manifest.sources:
        if not saved.readers or not base_uid(saved.uid).startswith("sql-"):
            continue
        mapped = {operators.get(uid, uid) for uid in saved.readers}
        best, most = "", 0
        for uid, found in readers.items():
            common = 2 * len(found & mapped) + (uid == saved.uid)
            if base_uid(uid) == base_uid(saved.uid) and uid not in pairs.values() and found & mapped and common > most:
                best, most = uid, common
        if best:
            pairs[saved.uid] = best
    return pairs
