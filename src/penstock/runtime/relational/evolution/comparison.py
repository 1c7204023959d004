"""Compares an operator of a saved query with one of a changed query: can its state be used, and how is it rewritten?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from penstock.runtime.relational.evolution.accumulator_change import accumulator_change
from penstock.runtime.relational.evolution.meaning import InputMeaning, OperatorMeaning
from penstock.runtime.relational.evolution.row_change import RowChange, key_change, row_change
from penstock.runtime.relational.evolution.table_rewrite import TableRewrite

KEPT, IN_PART, REBUILT = "kept", "kept in part", "rebuilt"

# Tables with rows of an input: by kind of operator and table, the layout and the input.
_ROWS: dict[str, dict[str, tuple[str, int]]] = {
    "normalize": {"rows": ("row", 0)},
    "deduplicate": {"last": ("row", 0), "waiting-rows": ("row", 0)},
    "rank": {"rows": ("ranked rows", 0)},
    "upsert_materialize": {"rows": ("list of rows", 0)},
    "join": {
        "left rows": ("row in name", 0),
        "right rows": ("row in name", 1),
        "left blocks": ("block", 0),
        "right blocks": ("block", 1),
    },
    "interval_join": {"left": ("rows with marks", 0), "right": ("rows with marks", 1)},
}
_ACCUMULATORS = ("windows", "slices", "cumulated", "sessions")
_STAMPED = {  # tables whose values have the time of their writing, if there is a time to live
    "group_aggregate": ("groups",),
    "normalize": ("rows",),
    "deduplicate": ("last", "emitted"),
    "rank": ("rows", "index"),
    "upsert_materialize": ("rows",),
    "join": ("left index", "left blocks", "right index", "right blocks"),
}
# Tables that an operator may have no more, because it does not need their entries.
_VANISHING = {"group_aggregate": ("values",), "join": ("left ends", "right ends")}
_BY_ROW = ("join", "upsert_materialize", "rank")  # find stored rows by all their columns, if no key identifies them


@dataclass(slots=True)
class Comparison:
    """The verdict, its reasons, and how tables are rewritten, by name. Tables that are not listed stay as they are."""

    verdict: Literal["kept", "kept in part", "rebuilt"] = "kept"
    reasons: list[str] = field(default_factory=list)
    rewrites: dict[str, TableRewrite] = field(default_factory=dict)
    same_rows: bool = True  # it reads the same rows, so that operators after it do, too

    def worsen(self, verdict: Literal["kept in part", "rebuilt"], reason: str) -> None:
        """Notes why state is not kept as a whole."""
        if self.verdict != REBUILT:
            self.verdict = verdict
        self.reasons.append(reason)


def compare_operators(
    old: OperatorMeaning, new: OperatorMeaning, tables: Mapping[str, str], renamed: Mapping[str, str]
) -> Comparison:
    """Compares two operators.

    tables: the saved tables of the old one, with their kinds ("rows" or "times"). renamed: ids of operators before them whose state
    is kept under another id.
    """
    found = Comparison()
    if old.kind != new.kind:
        found.worsen("rebuilt", f"it was {old.kind.replace('_', ' ')} and is {new.kind.replace('_', ' ')}")
        return found
    _compare_facts(old.facts, new.facts, found)
    _compare_facts(old.layout, new.layout, found)
    if len(old.inputs) != len(new.inputs):
        found.worsen("rebuilt", f"it had {len(old.inputs)} inputs and has {len(new.inputs)}")
        return found
    keys = [key_change(a, b) for a, b in zip(old.inputs, new.inputs, strict=True)]
    for (_, obstacles), a, b in zip(keys, old.inputs, new.inputs, strict=True):
        for obstacle in obstacles:
            found.worsen("rebuilt", obstacle)
        _compare_rows(a, b, renamed, old.given or new.given, len(old.inputs) > 1, found)
    if len({key for key, _ in keys}) > 1:
        found.worsen("rebuilt", "the keys of its inputs are in different orders now")
    if keys[0][0] is not None and any(name.endswith(" blocks") for name in tables):
        found.worsen("rebuilt", "its keys are in another order, and its rows are stored in blocks by key")
    if found.verdict == REBUILT:
        return found
    base = {name: TableRewrite(kind, key=keys[0][0]) for name, kind in tables.items()}
    _compare_state(old, new, base, found)
    _compare_ttl(old, new, base, found)
    plain = TableRewrite("")
    found.rewrites = {n: r for n, r in base.items() if msgspec.structs.replace(r, kind="", skip=0) != plain}
    return found


def _compare_facts(old: Mapping[str, str], new: Mapping[str, str], found: Comparison) -> None:
    for name in sorted({*old, *new}):
        before, after = old.get(name, ""), new.get(name, "")
        if before != after:
            found.worsen("rebuilt", f"{name} was {before or 'not set'} and is {after or 'not set'}")


def _compare_rows(
    old: InputMeaning, new: InputMeaning, renamed: Mapping[str, str], given: bool, joins: bool, found: Comparison
) -> None:
    """Compares the rows that an operator reads. Rows of other keys may be filtered without an effect on the state of a key."""
    base = old.base
    for before, after in renamed.items():
        base = base.replace(before, after)
    if base != new.base or {f.text for f in old.filters} != {f.text for f in new.filters}:
        found.same_rows = False
    if base != new.base and not given:
        found.worsen("rebuilt", f"it read {old.base} and reads {new.base}")
    elif base != new.base:
        found.worsen("kept in part", f"it read {old.base} and reads {new.base}; its state has rows of both")
    if old.insert_only != new.insert_only:
        change = "has updates now" if old.insert_only else "has no updates any more"
        found.worsen("rebuilt", f"its input {change}, so that it stores something else")
    before_texts, after_texts = {f.text for f in old.filters}, {f.text for f in new.filters}
    added = [f for f in new.filters if f.text not in before_texts]
    removed = [f for f in old.filters if f.text not in after_texts]
    keys = set(new.key_texts)
    by_key = not joins and all(set(f.reads) <= keys and "?" not in f.reads for f in [*added, *removed])
    texts = [*(f"with {f.text}" for f in added), *(f"without {f.text}" for f in removed)]
    if not texts:
        return
    listed = ", ".join(texts)
    if by_key and removed:
        found.worsen("kept in part", f"its rows are filtered {listed}: keys that were left out start empty")
    elif by_key:
        found.reasons.append(f"its rows are filtered {listed}: the state of other keys is not used any more")
    elif given:
        found.worsen("kept in part", f"its rows are filtered {listed}; its state has rows of both")
    else:
        found.worsen("rebuilt", f"its rows are filtered {listed}, and its state does not show which rows it contains")


def _compare_state(
    old: OperatorMeaning, new: OperatorMeaning, tables: dict[str, TableRewrite], found: Comparison
) -> None:
    if new.kind in ("group_aggregate", "window_aggregate"):
        _compare_accumulators(old, new, tables, found)
        return
    changes = [row_change(a, b) for a, b in zip(old.inputs, new.inputs, strict=True)]
    layouts = _ROWS.get(new.kind)
    for number, change in enumerate(changes):
        for obstacle in change.obstacles:
            found.worsen("rebuilt", obstacle)
        if change.columns is not None and layouts is None:
            old_columns, columns = ", ".join(old.inputs[number].columns), ", ".join(new.inputs[number].columns)
            found.worsen("rebuilt", f"its rows had ({old_columns}) and have ({columns}), in this order")
        elif change.columns is not None:
            _compare_added(new, number, change, found)
    if layouts is not None and found.verdict != REBUILT:
        for name, (layout, number) in layouts.items():
            if name in tables and (places := changes[number].columns) is not None:
                tables[name] = msgspec.structs.replace(
                    tables[name], layout=layout, columns=places, skip=_skip(new, name)
                )
            if name in tables and layout == "block":
                tables[name] = _with_types(tables[name], old.inputs[number], new.inputs[number])


def _with_types(table: TableRewrite, old: InputMeaning, new: InputMeaning) -> TableRewrite:
    """Blocks contain columns of exact types, so they are rewritten also if only a type is wider."""
    columns = table.columns
    if columns is None and all(
        a.with_nullable(True) == b.with_nullable(True) for a, b in zip(old.types, new.types, strict=True)
    ):
        return table
    places = tuple(range(len(new.types))) if columns is None else columns
    return msgspec.structs.replace(table, layout="block", columns=places, types=(old.types, new.types))


def missing_tables(new: OperatorMeaning, saved: Iterable[str], opened: Iterable[str]) -> list[str]:
    """Returns the saved tables that an operator needs, but stores in another form now."""
    vanishing = _VANISHING.get(new.kind, ())
    own = {name for name in saved if not name.startswith("__")}  # timers belong to the host of the operator
    return sorted(own - set(opened) - set(vanishing))


def _compare_added(new: OperatorMeaning, number: int, change: RowChange, found: Comparison) -> None:
    if not change.added:
        return
    listed = ", ".join(change.added)
    upsert_key = bool(new.facts.get("upsert key"))
    if new.kind in _BY_ROW and not new.inputs[number].insert_only and not upsert_key:
        found.worsen("rebuilt", f"its rows have more columns ({listed}), and updates find stored rows by all columns")
    else:
        found.worsen("kept in part", f"stored rows have NULL in {listed}")


def _skip(new: OperatorMeaning, name: str) -> int:
    if new.kind == "deduplicate" and name == "last" and new.facts.get("event time") == "True":
        return 8  # the time of the row
    return -1 if new.kind == "rank" and new.facts.get("upsert key") and not new.inputs[0].insert_only else 0


def _compare_accumulators(
    old: OperatorMeaning, new: OperatorMeaning, tables: dict[str, TableRewrite], found: Comparison
) -> None:
    change = accumulator_change(old, new)
    if new.kind == "window_aggregate" and not change.same and ("early" in new.facts or "late" in new.facts):
        found.worsen(
            "rebuilt", "its aggregates have changed, and windows with early or late results store their results"
        )
        return
    if not change.keeps_any and new.calls and old.calls:
        found.worsen("rebuilt", "none of its aggregates was there before")
        return
    for text in change.added:
        found.worsen("kept in part", f"{text} starts empty")
    found.reasons += [f"{text} is dropped" for text in change.dropped]
    if change.same:
        return
    for name, table in tables.items():
        fields, slots = tuple(change.fields), tuple(change.slots)
        if new.kind == "group_aggregate" and name in ("groups", "values"):
            layout = "groups" if name == "groups" else "values of groups"
            tables[name] = msgspec.structs.replace(table, layout=layout, fields=fields, slots=slots)
        elif new.kind == "window_aggregate" and name in _ACCUMULATORS:
            tables[name] = msgspec.structs.replace(
                table, layout="accumulators", fields=fields, slots=slots, skip=change.old_width
            )


def _compare_ttl(
    old: OperatorMeaning, new: OperatorMeaning, tables: dict[str, TableRewrite], found: Comparison
) -> None:
    stamps = (old.ttl > 0, new.ttl > 0)
    if old.ttl != new.ttl:
        was, is_ = (f"{ttl} ms" if ttl else "no limit" for ttl in (old.ttl, new.ttl))
        found.reasons.append(f"its time to live was {was} and is {is_}")
        if stamps[0] != stamps[1] and new.kind not in (*_STAMPED, "join", "interval_join"):
            found.worsen("rebuilt", "its entries have no time of writing, or had one")
            return
    right = new.facts.get("right ttl")
    for name in _STAMPED.get(new.kind, ()):
        table = tables.get(name)
        if right is not None and name.startswith("right "):  # it has a time to live of its own, which is the same
            stamps = (int(right) > 0, int(right) > 0)
        if table is not None and (stamps[0] != stamps[1] or table.layout != "other" or table.key is not None):
            tables[name] = msgspec.structs.replace(table, stamps=stamps)
