"""Binds the clauses of MATCH_RECOGNIZE besides its pattern and expressions."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import warn_ignored
from penstock.runtime.relational.expressions.tree import Literal
from penstock.runtime.relational.specs.match import AllRows, MatchSkip
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.matching.pattern import automaton, cannot_skip
from penstock.table.binder.queries.matching.variables import Variables
from penstock.table.binder.scope import Scope
from penstock.table.dialect import nodes
from penstock.types.logical.kinds import DayTimeIntervalType


def bind_rows(node: nodes.MatchRecognize) -> AllRows | None:
    """Returns which rows ALL ROWS PER MATCH has, or None for one row per match."""
    written = node.args.get("rows") or ""
    if not written.startswith("ALL ROWS"):
        return None
    return AllRows(not written.endswith("OMIT EMPTY MATCHES"), written.endswith("WITH UNMATCHED ROWS"))


def bind_subsets(
    context: Context, node: nodes.MatchRecognize, pattern: Sequence[str], defined: Sequence[str]
) -> dict[str, frozenset[str]]:
    """Returns the variables of each SUBSET."""
    found: dict[str, frozenset[str]] = {}
    for subset in node.args.get("subsets") or ():
        name = subset.name
        if name in pattern or name in defined or name in found:
            raise context.refuse(
                "SQL_PATTERN",
                f"Pattern variable '{name}' has already been defined, so that it cannot name a SUBSET.",
                subset,
            )
        members = [part.name for part in subset.expressions]
        for member, part in zip(members, subset.expressions, strict=True):
            if member not in pattern:
                raise context.refuse(
                    "SQL_PATTERN",
                    f"Unknown pattern variable '{member}' in SUBSET. The pattern has the variables {', '.join(pattern)}.",
                    part if part.meta else subset,
                )
        found[name] = frozenset(members)
    return found


def check_exclusions(context: Context, node: nodes.MatchRecognize, rows: AllRows | None) -> None:
    """Checks that {- -} has an effect."""
    excluded = next(node.args["pattern"].find_all(nodes.PatternExclusion), None)
    if excluded is None:
        return
    if rows is None:
        warn_ignored("{- -} in PATTERN has no effect with ONE ROW PER MATCH. Write ALL ROWS PER MATCH.")
    elif rows.unmatched:
        raise context.refuse(
            "SQL_PATTERN", "{- -} cannot be combined with WITH UNMATCHED ROWS, which shows all rows.", excluded
        )


def bind_skip(context: Context, match: nodes.MatchRecognize, known: Variables, *, as_flink: bool) -> MatchSkip:
    """Binds AFTER MATCH SKIP. The default of Flink is the next row, and that of the SQL standard is past the last row."""
    node = match.args.get("after")
    found = None if as_flink else automaton(context, known.tree, match.args["pattern"])
    if node is None:
        return MatchSkip("NEXT ROW" if as_flink else "PAST LAST ROW")
    variable = node.args.get("variable")
    if variable is None:
        return MatchSkip(node.this)
    name = variable.name
    if name not in known.pattern and name not in known.subsets:
        raise context.refuse(
            "SQL_PATTERN", f"Unknown pattern variable '{name}' in AFTER MATCH SKIP.{known.hint(name)}", node
        )
    skip = MatchSkip(node.this, name)
    if found is not None and cannot_skip(found, skip, known.members(name)):
        raise context.refuse(
            "SQL_PATTERN",
            f"AFTER MATCH SKIP {skip} cannot skip: a row of '{name}' can only be the first row of a match, which would be "
            "found again without end. Choose another variable, or SKIP PAST LAST ROW.",
            node,
        )
    return skip


def bind_within(context: Context, match: nodes.MatchRecognize, scope: Scope) -> int | None:
    """Returns the longest time of a match in milliseconds."""
    node = match.args.get("within")
    if node is None:
        return None
    value = ExpressionBinder(scope, context.text).bind(node)
    if not isinstance(value, Literal) or not isinstance(value.type, DayTimeIntervalType) or value.value <= 0:
        raise context.refuse(
            "SQL_PATTERN", "WITHIN takes a constant interval of days, hours, minutes or seconds.", node
        )
    return int(value.value)
