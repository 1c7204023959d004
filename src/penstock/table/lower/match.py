"""The specification of MATCH_RECOGNIZE."""

from __future__ import annotations

from penstock.errors import PlanError
from penstock.runtime.relational.specs.operators import MatchSpec
from penstock.table import relations as r
from penstock.table import traits
from penstock.table.traits import Changelog


def match_spec(match: r.Match, input_changes: Changelog, zone: str) -> MatchSpec:
    """Returns the specification of the operator."""
    if not input_changes.insert_only:
        raise PlanError(
            "SQL_CHANGELOG",
            "Match Recognize doesn't support consuming update and delete changes. Its input must be an insert-only table.",
        )
    return MatchSpec(
        input_types=tuple(f.type for f in match.input.row_type.fields),
        output_types=tuple(f.type for f in match.row_type.fields),
        keys=match.partition,
        order=match.order,
        pattern=match.pattern,
        definitions=match.definitions,
        measures=match.measures,
        navigations=match.navigations,
        skip=match.skip,
        within=match.within,
        event_time=traits.is_rowtime(match.input, match.order[0].column),
        zone=zone,
        tree=match.tree,
        previous=match.previous,
        subsets=match.subsets,
        all_rows=match.all_rows,
    )
