"""The base of all rules that turn relations into nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import PlanError
from penstock.plan.nodes import Node
from penstock.runtime.relational.expressions.tree import Call, Column, Expression, walk
from penstock.runtime.relational.specs import operators as specs
from penstock.runtime.relational.steps.calc import CalcStep
from penstock.table import relations as r
from penstock.table import traits
from penstock.table.lower.graph import GraphBuilder
from penstock.table.lower.scan import scan_mode
from penstock.table.lower.settings import QuerySettings, duration_in_ms
from penstock.table.lower.shared_scans import SharedScans
from penstock.table.traits import Changelog
from penstock.types.logical.kinds import LogicalType

Versioned = specs.DeduplicateSpec | specs.NormalizeSpec | specs.RankSpec | specs.GroupAggregateSpec


@dataclass(frozen=True, slots=True)
class Lowered:
    """The node of a relation, and the changes that it emits."""

    node: Node
    changelog: Changelog


class BaseRules:
    """What all rules use: the graph, the settings, and the nodes that were added."""

    def __init__(self, graph: GraphBuilder, settings: QuerySettings) -> None:
        self.graph = graph
        self.settings = settings
        # By id, which stays unique because the relation is kept.
        self._done: dict[tuple[int, bool, bool], tuple[r.Relation, Lowered]] = {}
        self._shared_scans = SharedScans(None, settings)
        self._every_change = False  # whether the reader needs all changes of a key, also those within a batch

    def begin_query(self, relation: r.Relation) -> None:
        """Prepares the rules for a query, so that its parts share the tables that they read."""
        self._shared_scans = SharedScans(relation, self.settings)

    def lower(self, relation: r.Relation, before: bool = True) -> Lowered:
        """Returns the node of a relation. `before`: whether the reader needs the row before an update (-U)."""
        key = (id(relation), before, self._every_change)
        if key not in self._done:
            self._done[key] = relation, self._lower(relation, before)
        return self._done[key][1]

    def _lower_every_change(self, relation: r.Relation, before: bool) -> Lowered:
        """Returns the node of a relation that must not leave out updates which the same batch replaces."""
        outside, self._every_change = self._every_change, True
        lowered = self.lower(relation, before)
        self._every_change = outside
        return lowered

    def changelog(self, relation: r.Relation) -> Changelog:
        """Returns the changes that a relation emits, without adding nodes."""
        if isinstance(relation, r.Scan):
            found = traits.changelog_of_mode(scan_mode(relation, self.settings))
            return found._replace(before=True)
        if isinstance(relation, r.WindowAggregate) and relation.legacy and self._emit_options()[:2] != (None, None):
            return Changelog(updates=True, deletes=True)
        return traits.emitted(relation, [self.changelog(i) for i in relation.inputs()])

    def _lower(self, relation: r.Relation, before: bool) -> Lowered:
        rule: Callable[[Any, bool], Lowered] | None = getattr(self, f"_{type(relation).__name__.lower()}", None)
        if rule is None:
            raise PlanError("SQL_UNSUPPORTED", f"{type(relation).__name__} is not supported yet.")
        with self.graph.of(relation):
            return rule(relation, before)

    def _calc_step(
        self, name: str, projections: Sequence[Expression], condition: Expression | None, node: Node, width: int = 0
    ) -> Node:
        settings = self.settings
        parts = [*projections, *([] if condition is None else [condition])]
        marks = [p for e in parts for p in walk(e) if isinstance(p, Call) and p.function == "CURRENT_WATERMARK"]
        watermark_type = None
        if marks:
            watermark_type = marks[0].type
            projections = [_with_watermark(p, width) for p in projections]
            condition = None if condition is None else _with_watermark(condition, width)
        step = CalcStep(
            projections, condition, settings.zone, settings.database, settings.started, watermark_type=watermark_type
        )
        return self.graph.step(name, step, node, f"{projections!r} {condition!r}")

    def _emit_options(self) -> tuple[int | None, int | None, int]:
        """Early and late firing of legacy group windows, and how long their state is kept after their end."""
        settings = self.settings
        early = late = None
        if settings.flag("table.exec.emit.early-fire.enabled"):
            early = settings.duration("table.exec.emit.early-fire.delay", 0)
        if settings.flag("table.exec.emit.late-fire.enabled"):
            late = settings.duration("table.exec.emit.late-fire.delay", 0)
        lateness = settings.duration("table.exec.emit.allow-lateness", 0) or 0
        if late is not None and not 0 <= late < max(lateness, 1):
            raise PlanError(
                "SQL_EMIT",
                f"Windows emit late results (table.exec.emit.late-fire.enabled) with a delay of {late} ms, but keep rows for "
                f"{lateness} ms after their end. Set 'table.exec.emit.allow-lateness' to more than the delay.",
            )
        return early, late, lateness

    def materialized_by_key(
        self,
        lowered: Lowered,
        types: tuple[LogicalType, ...],
        keys: tuple[int, ...],
        conflict: specs.Conflict = "deduplicate",
    ) -> Lowered:
        """Orders changes by the primary key of a sink, where they may arrive by another key."""
        spec = specs.UpsertMaterializeSpec(
            input_types=types,
            output_types=types,
            keys=keys,
            insert_only=False,
            ttl=self.settings.state_ttl,
            conflict=conflict,
        )
        node = self._operator("upsert materialize", spec, lowered.node, types)
        return Lowered(node, Changelog(updates=True, deletes=True))

    def _all_versions(self, spec: Versioned) -> specs.OperatorSpec:
        """Makes an operator emit every change, if its reader needs all versions of a row."""
        first_rows = isinstance(spec, specs.DeduplicateSpec) and not spec.keep_last  # they are never updated
        if not self._every_change or first_rows:
            return spec
        return specs.EachChangeSpec(
            operator=spec,
            input_types=spec.input_types,
            output_types=spec.output_types,
            keys=spec.keys,
            insert_only=spec.insert_only,
        )

    def _operator(self, name: str, spec: Any, node: Node, types: Sequence[LogicalType]) -> Node:
        return self.graph.operator(name, spec, [(node, spec.keys, types)])

    def _refuse_changes(self, lowered: Lowered, what: str) -> None:
        if not lowered.changelog.insert_only:
            raise PlanError(
                "SQL_CHANGELOG",
                f"{what} cannot read updates and deletes. Aggregate the windows with GROUP BY window_start, window_end, or read an "
                "insert-only table.",
            )

    def _side_ttls(self, join: r.Join) -> tuple[int, int]:
        """How long the state of both inputs of a join is kept, by the sides of the hint STATE_TTL."""
        default = self.settings.state_ttl
        hint = next((a for name, a in join.hints if name == "STATE_TTL" and isinstance(a, dict)), {})
        left, right = (
            duration_in_ms("STATE_TTL", hint[side]) if side in hint else default for side in ("LEFT", "RIGHT")
        )
        return left, right

    def state_ttl(self, relation: r.Relation) -> int:
        """How long state of a relation is kept: by its STATE_TTL hint, else by the option of the session."""
        if isinstance(relation, r.Join):
            sides = self._side_ttls(relation)
            return max(sides) if all(sides) else 0
        for name, arguments in relation.hints:
            if name == "STATE_TTL" and isinstance(arguments, dict):
                return max(duration_in_ms("STATE_TTL", value) for value in arguments.values())
        return self.settings.state_ttl


def column_types(relation: r.Relation) -> tuple[LogicalType, ...]:
    """Returns the types of the columns of a relation."""
    return tuple(f.type for f in relation.row_type.fields)


def _with_watermark(expression: Expression, column: int) -> Expression:
    """Replaces CURRENT_WATERMARK by the column that contains the watermark."""
    if not isinstance(expression, Call):
        return expression
    if expression.function == "CURRENT_WATERMARK":
        return Column(column, expression.type, "watermark")
    arguments = tuple(_with_watermark(a, column) for a in expression.arguments)
    return Call(expression.function, arguments, expression.type, expression.options)
