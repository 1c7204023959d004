"""Rules of joins and set operations."""

from __future__ import annotations

import msgspec

from penstock.plan.nodes import Node
from penstock.runtime.relational.specs import operators as specs
from penstock.runtime.relational.specs.lookup import LookupJoinSpec
from penstock.runtime.relational.steps.lookup import LookupJoinStep
from penstock.table import relations as r
from penstock.table import traits
from penstock.table.lower.base_rules import BaseRules, Lowered, column_types
from penstock.table.lower.join import JoinPlan, plan_join
from penstock.table.lower.join_spec import as_join, join_spec, processing_time_spec, temporal_spec, without_bounds
from penstock.table.lower.lookup import lower_lookup, remembers
from penstock.table.traits import Changelog


class JoinRules(BaseRules):
    """Relations with two inputs, and lookups."""

    def _setoperation(self, operation: r.SetOperation, before: bool) -> Lowered:
        left, right = self.lower(operation.left, True), self.lower(operation.right, True)
        types = column_types(operation)
        spec = specs.SetOperationSpec(
            input_types=types,
            right_types=types,
            output_types=types,
            keys=tuple(range(len(types))),
            kind=operation.kind,
            all=operation.all,
            insert_only=False,
        )
        inputs = [(left.node, spec.keys, types), (right.node, spec.keys, types)]
        return Lowered(self.graph.operator(operation.kind.lower(), spec, inputs), Changelog(deletes=True))

    def _join(self, join: r.Join, before: bool) -> Lowered:
        left, right = self.lower(join.left, True), self.lower(join.right, True)
        if join.times == "interval" and not (left.changelog.insert_only and right.changelog.insert_only):
            join = msgspec.structs.replace(join, times="")
        plan = plan_join(without_bounds(join))
        insert_only = left.changelog.insert_only, right.changelog.insert_only
        spec = join_spec(join, plan, insert_only, self._side_ttls(join), self.settings.zone)
        node = self._joined(f"{join.times} {join.kind.lower()} join".strip(), plan, spec, left.node, right.node)
        return Lowered(node, traits.emitted(join, [left.changelog, right.changelog]))

    def _temporaljoin(self, temporal: r.TemporalJoin, before: bool) -> Lowered:
        left = self.lower(temporal.left, True)
        right = self._lower_every_change(temporal.right, False)
        plan = plan_join(as_join(temporal))
        spec: specs.JoinSpec = temporal_spec(temporal, plan, self.settings.zone)
        if temporal.right_time < 0:
            spec = processing_time_spec(temporal, plan, self.state_ttl(temporal), self.settings.zone)
        return Lowered(self._joined("temporal join", plan, spec, left.node, right.node), left.changelog)

    def _lookupjoin(self, join: r.LookupJoin, before: bool) -> Lowered:
        left = self.lower(join.left, True)
        found = lower_lookup(join, self.settings)
        spec, table, cache, retry = found.spec, found.table, found.cache, found.retry
        if left.changelog.insert_only or not remembers(self.settings):
            step = LookupJoinStep(spec, table, cache, retry)
            return Lowered(self.graph.step("lookup join", step, left.node, f"{spec} {table}"), left.changelog)
        types = column_types(join.left)
        keys = sorted(traits.upsert_keys(join.left), key=lambda key: (len(key), sorted(key)))
        operator = LookupJoinSpec(
            input_types=types,
            output_types=column_types(join),
            keys=tuple(sorted(keys[0])) if keys else tuple(range(len(types))),
            insert_only=False,
            ttl=self.state_ttl(join),
            lookup=spec,
            table=table,
            cache=cache,
            retry=retry,
        )
        return Lowered(self._operator("lookup join", operator, left.node, types), left.changelog)

    def _joined(self, name: str, plan: JoinPlan, spec: specs.JoinSpec, left: Node, right: Node) -> Node:
        if plan.left_projections is not None:
            left = self._calc_step("keys", plan.left_projections, None, left)
        if plan.right_projections is not None:
            right = self._calc_step("keys", plan.right_projections, None, right)
        inputs = [(left, spec.keys, spec.input_types), (right, spec.right_keys, spec.right_types)]
        node = self.graph.operator(name, spec, inputs)
        return node if plan.output_columns is None else self._calc_step("columns", plan.output_columns, None, node)
