"""Traits of relations: which kinds of changes they emit, and which columns identify their rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from penstock.runtime.relational.expressions.tree import Call, Column, Expression
from penstock.runtime.relational.operators.over import leaves_once
from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.runtime.relational.specs.operators import OverSpec
from penstock.table import relations as r
from penstock.table.connectors.interface import ChangelogMode
from penstock.types.logical.kinds import TimestampType


class Changelog(NamedTuple):
    """The kinds of changes besides insertions. `before` is False if an update is one row (+U), without the row before it (-U)."""

    updates: bool = False
    deletes: bool = False
    before: bool = True

    @property
    def insert_only(self) -> bool:
        return not self.updates and not self.deletes

    def kinds(self) -> str:
        """Returns the kinds as EXPLAIN prints them.

        >>> Changelog(updates=True).kinds()
        'I,UB,UA'
        """
        updates = ["UB", "UA"] if self.before else ["UA"]
        return ",".join(["I", *(updates if self.updates else []), *(["D"] if self.deletes else [])])


APPEND = Changelog()
_OF_MODE = {
    "append": APPEND,
    "upsert": Changelog(updates=True, deletes=True, before=False),
    "retract": Changelog(updates=True, deletes=True),
}


def changelog_of_mode(mode: ChangelogMode) -> Changelog:
    """Returns the changes of a connector."""
    return _OF_MODE[mode]


def emitted(relation: r.Relation, inputs: list[Changelog]) -> Changelog:
    """Returns the changes that a relation emits, from those of its inputs. Scans are not handled here."""
    joined = Changelog(any(i.updates for i in inputs), any(i.deletes for i in inputs))
    match relation:
        case r.Aggregate(group_window=None):
            if not relation.calls:
                return APPEND if joined.insert_only else Changelog(deletes=True)
            return Changelog(updates=True, deletes=not joined.insert_only and bool(relation.keys))
        case r.TableAggregate():
            return Changelog(updates=True, deletes=True)
        case r.Aggregate() | r.WindowAggregate() | r.WindowRank() | r.Match() | r.Values():
            return APPEND
        case r.Rank():
            return Changelog(updates=True, deletes=True)
        case r.Deduplicate():
            if not joined.insert_only:
                return Changelog(updates=True, deletes=True)
            return Changelog(updates=True) if relation.keep_last else APPEND
        case r.Over():
            return APPEND if over_leaves_once(relation, joined) else Changelog(updates=True, deletes=True)
        case r.Sort():
            if relation.limit is None and not relation.offset and joined.insert_only:
                return APPEND if orders_by_time(relation) else Changelog(updates=True, deletes=True)
            return Changelog(updates=True, deletes=True)
        case r.Normalize():
            return Changelog(updates=True, deletes=True)
        case r.Join(times="window"):
            return APPEND
        case r.Join(times="interval") if joined.insert_only:
            return APPEND
        case r.Join():
            outer = relation.kind not in ("INNER", "SEMI")
            return Changelog(joined.updates or outer, joined.deletes or outer)
        case r.TemporalJoin() | r.LookupJoin():
            return inputs[0]
        case r.ToChangelog():
            return APPEND
        case r.FromChangelog():
            kinds = {kind for _, kind in relation.codes}
            return Changelog(updates=bool(kinds & {1, 2}), deletes=3 in kinds)
        case r.SetOperation():
            return Changelog(updates=True, deletes=True)
    return joined


def is_proctime(relation: r.Relation, column: int) -> bool:
    """Whether a column is a processing-time attribute."""
    type_ = relation.row_type.fields[column].type
    return isinstance(type_, TimestampType) and type_.attribute == "PROCTIME"


def is_rowtime(relation: r.Relation, column: int) -> bool:
    """Whether a column is an event-time attribute."""
    type_ = relation.row_type.fields[column].type
    return isinstance(type_, TimestampType) and type_.attribute == "ROWTIME"


def is_time_order(over: r.Over) -> bool:
    """Whether OVER is ordered by a time attribute, ascending."""
    if not over.order:
        return False
    first = over.order[0]
    return first.ascending and (is_rowtime(over.input, first.column) or is_proctime(over.input, first.column))


def as_rank(relation: r.Deduplicate) -> r.Rank:
    """Returns a deduplication as Top-1, for an input with updates and deletes."""
    order = SortKey(relation.time_column, not relation.keep_last, nulls_first=not relation.keep_last)
    return r.Rank(
        row_type=relation.row_type,
        hints=relation.hints,
        input=relation.input,
        partition=relation.partition,
        order=(order,),
        end=1,
        outputs_rank=relation.outputs_rank,
    )


def over_spec(over: r.Over, insert_only: bool, update_before: bool = True, ttl: int = 0) -> OverSpec:
    """Returns the specification of OVER."""
    time: Literal["rowtime", "proctime", ""] = ""
    if is_time_order(over):
        time = "rowtime" if is_rowtime(over.input, over.order[0].column) else "proctime"
    return OverSpec(
        input_types=tuple(f.type for f in over.input.row_type.fields),
        output_types=tuple(f.type for f in over.row_type.fields),
        keys=over.partition,
        calls=over.calls,
        order=over.order,
        time=time,
        insert_only=insert_only,
        update_before=update_before,
        ttl=ttl,
    )


def over_leaves_once(over: r.Over, changes: Changelog) -> bool:
    """Whether each row of OVER is emitted once, because no result depends on later rows."""
    return leaves_once(over_spec(over, changes.insert_only))


def orders_by_time(sort: r.Sort) -> bool:
    """Whether the first key of ORDER BY is a time attribute, ascending."""
    if not sort.order:
        return False
    first = sort.order[0]
    return first.ascending and (is_rowtime(sort.input, first.column) or is_proctime(sort.input, first.column))


def upsert_keys(relation: r.Relation) -> frozenset[frozenset[int]]:
    """Returns the sets of columns that identify a row of a relation among all live rows."""
    match relation:
        case r.Scan():
            key = relation.table.primary_key
            names = [f.name for f in relation.row_type.fields]
            return (
                frozenset([frozenset(names.index(k) for k in key)]) if key and set(key) <= set(names) else frozenset()
            )
        case r.Calc():
            # A column of the input may be projected several times; the first one stands for it.
            places: dict[int, int] = {}
            for place, expression in enumerate(relation.projections):
                if isinstance(expression, Column):
                    places.setdefault(expression.index, place)
            return frozenset(
                frozenset(places[c] for c in key)
                for key in upsert_keys(relation.input)
                if all(c in places for c in key)
            )
        case r.Aggregate() | r.WindowAggregate():
            keys = range(len(relation.keys))
            first = len(relation.keys) + len(relation.calls)
            window = [first + i for i, p in enumerate(relation.properties) if p in ("start", "end", "time")]
            if isinstance(relation, r.WindowAggregate) or relation.group_window is not None:
                return frozenset([frozenset([*keys, *window[:1]])]) if window else frozenset()
            return frozenset([frozenset(keys)])
        case r.Rank():
            found = set(_keys_with(relation.partition, upsert_keys(relation.input)))
            if relation.outputs_rank:
                found.add(frozenset([*relation.partition, len(relation.input.row_type.fields)]))
            elif relation.end == 1:
                found.add(frozenset(relation.partition))
            return frozenset(found)
        case r.Deduplicate():
            return frozenset([frozenset(relation.partition)])
        case r.Over():
            return _keys_with(relation.partition, upsert_keys(relation.input))
        case r.WindowAssign() | r.Sort() | r.Sink() | r.WindowRank():
            return frozenset() if isinstance(relation, r.WindowAssign) else upsert_keys(relation.input)
        case r.TemporalJoin():
            width = len(relation.left.row_type.fields)
            compared = [column for column in _equal_columns(relation.condition) if column < width]
            return _keys_with(compared, upsert_keys(relation.left))
        case r.LookupJoin():
            return upsert_keys(relation.left) if finds_one_row(relation) else frozenset()
        case r.Normalize():
            return frozenset([frozenset(relation.keys)])
    return frozenset()


def _keys_with(partition: Iterable[int], keys: frozenset[frozenset[int]]) -> frozenset[frozenset[int]]:
    """The keys that contain the columns by which an operator distributes rows.

    With any other key, an update may move a row to another slot, and nothing orders the two changes of the key.
    """
    return frozenset(key for key in keys if key >= set(partition))


def finds_one_row(join: r.LookupJoin) -> bool:
    """Whether a row finds one row at most, because the condition has the primary key of the table."""
    width = len(join.left.row_type.fields)
    found = {column - width for column in _equal_columns(join.condition) if column >= width}
    return any(key <= found for key in upsert_keys(join.right))


def _equal_columns(condition: Expression | None) -> set[int]:
    """The columns that a condition compares by equality, in parts that are connected by AND."""
    if not isinstance(condition, Call):
        return set()
    if condition.function == "AND":
        return set().union(*(_equal_columns(part) for part in condition.arguments))
    return {a.index for a in condition.arguments if isinstance(a, Column)} if condition.function == "=" else set()
