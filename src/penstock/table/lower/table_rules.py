"""Rules of relations that become steps: tables, projections, filters, and others without state."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import PlanError
from penstock.plan.nodes import Node
from penstock.runtime.relational.expressions.tree import Column, Expression, columns_of
from penstock.runtime.relational.python_functions.table_function import TableFunctionStep
from penstock.runtime.relational.specs import operators as specs
from penstock.runtime.relational.steps.assign_windows import AssignWindowsStep
from penstock.runtime.relational.steps.change_codes import FromCodes, ToCodes
from penstock.runtime.relational.steps.constraints import DeleteUnless
from penstock.runtime.relational.steps.expand import ExpandStep
from penstock.runtime.relational.steps.unnest import UnnestStep
from penstock.table import relations as r
from penstock.table import traits
from penstock.table.lower.base_rules import BaseRules, Lowered, column_types
from penstock.table.lower.determinism import check_retractable, functions_in
from penstock.table.lower.places import ColumnPlaces, remapped
from penstock.table.lower.scan import ScannedTable, is_normalized, scan_table
from penstock.table.lower.values import values_nodes
from penstock.table.traits import Changelog
from penstock.types.logical.kinds import LogicalType, TimestampType


class TableRules(BaseRules):
    """Tables, and relations without state."""

    def _scan(self, scan: r.Scan, before: bool) -> Lowered:
        every = range(len(scan.row_type.fields))
        node, places, changelog, _ = self._scanned(scan, list(every), before)
        if len(places) == len(every):
            return Lowered(node, changelog)
        projections = [Column(places[i], f.type, f.name) for i, f in enumerate(scan.row_type.fields)]
        return Lowered(self._calc_step("columns", projections, None, node), changelog)

    def _scanned(
        self,
        scan: r.Scan,
        used: list[int],
        before: bool,
        condition: Expression | None = None,
        readers: Sequence[Expression] | None = None,
    ) -> tuple[Node, ColumnPlaces, Changelog, bool]:
        """Adds the nodes of a table. The last result is True if the condition was applied, before a normalization."""
        found = self._read_table(scan, used, readers)
        changelog = traits.changelog_of_mode(found.mode)
        node = found.node
        table = scan.table
        if is_normalized(table, found.mode, self.settings):
            types = [table.columns[c].type for c, _ in sorted(found.places.items(), key=lambda item: item[1])]
            keys = tuple(found.places[i] for i, c in enumerate(table.columns) if c.name in table.primary_key)
            if condition is not None:
                step = DeleteUnless(remapped(condition, found.places), self.settings.zone)
                node = self.graph.step("filter by key", step, node, repr(condition))
            normalized = self._normalized(scan.path[-1], node, types, keys, before, self.state_ttl(scan))
            return normalized.node, found.places, normalized.changelog, True
        return node, found.places, changelog, False

    def _read_table(self, scan: r.Scan, used: list[int], readers: Sequence[Expression] | None) -> ScannedTable:
        shared = self._shared_scans.find(scan)
        if shared is None:
            return scan_table(scan, used, self.graph, self.settings, readers)
        if shared.found is None:
            shared.found = scan_table(scan, shared.used, self.graph, self.settings, shared.readers)
        return shared.found

    def _normalized(
        self, name: str, node: Node, types: Sequence[LogicalType], keys: tuple[int, ...], before: bool, ttl: int
    ) -> Lowered:
        """Turns changes by primary key into a complete changelog."""
        spec = specs.NormalizeSpec(
            input_types=tuple(types),
            output_types=tuple(types),
            keys=keys,
            insert_only=False,
            update_before=before,
            ttl=ttl,
        )
        normalized = self.graph.operator(f"normalize {name}", self._all_versions(spec), [(node, keys, types)])
        return Lowered(normalized, Changelog(updates=True, deletes=True, before=before))

    def _values(self, values: r.Values, before: bool) -> Lowered:
        return Lowered(values_nodes(values, self.graph, self.settings), traits.APPEND)

    _frame = _values

    def _calc(self, calc: r.Calc, before: bool) -> Lowered:
        # A filter may drop the new version of a row: then the reader must get the old one, to remove it.
        needs_before = before or calc.condition is not None or not self._keeps_upsert_key(calc)
        projections, condition = calc.projections, calc.condition
        if isinstance(calc.input, r.Scan):
            readers = [*projections, *([] if condition is None else [condition])]
            used = sorted(columns_of(*readers))
            node, places, changelog, filtered = self._scanned(calc.input, used, needs_before, condition, readers)
            projections = tuple(remapped(p, places) for p in projections)
            condition = None if condition is None or filtered else remapped(condition, places)
            width = places.width
        else:
            lowered = self.lower(calc.input, needs_before)
            node, changelog = lowered.node, lowered.changelog
            width = len(calc.input.row_type.fields)
        if needs_before and not changelog.insert_only:
            parts = calc.projections if calc.condition is None else (*calc.projections, calc.condition)
            check_retractable(functions_in(parts), self.settings)
        return Lowered(self._calc_step("calc", projections, condition, node, width), changelog)

    def _keeps_upsert_key(self, calc: r.Calc) -> bool:
        return bool(traits.upsert_keys(calc))

    def _windowassign(self, assign: r.WindowAssign, before: bool) -> Lowered:
        lowered = self.lower(assign.input, True)
        types = column_types(assign.input)
        if assign.window.kind == "SESSION":
            spec = specs.SessionAssignSpec(
                input_types=types,
                output_types=column_types(assign),
                keys=assign.window.partition,
                insert_only=lowered.changelog.insert_only,
                window=assign.window,
            )
            self._refuse_changes(lowered, "A SESSION window table function without GROUP BY")
            return Lowered(self._operator("session windows", spec, lowered.node, types), traits.APPEND)
        time = assign.row_type.fields[-1].type
        step = AssignWindowsStep(assign.window, isinstance(time, TimestampType) and time.local)
        return Lowered(self.graph.step("windows", step, lowered.node, str(assign.window)), lowered.changelog)

    def _expand(self, expand: r.Expand, before: bool) -> Lowered:
        lowered = self.lower(expand.input, True)
        step = ExpandStep(expand.grouped, expand.sets, expand.ids)
        meaning = repr((expand.grouped, expand.sets, expand.ids))
        return Lowered(self.graph.step("grouping sets", step, lowered.node, meaning), lowered.changelog)

    def _unnest(self, unnest: r.Unnest, before: bool) -> Lowered:
        lowered = self.lower(unnest.input, True)
        type_ = unnest.input.row_type.fields[unnest.column].type
        step = UnnestStep(unnest.column, type_, unnest.outer, unnest.ordinality)
        meaning = repr((unnest.column, unnest.outer, unnest.ordinality))
        return Lowered(self.graph.step("unnest", step, lowered.node, meaning), lowered.changelog)

    def _tochangelog(self, relation: r.ToChangelog, before: bool) -> Lowered:
        lowered = self.lower(relation.input, relation.codes[1] is not None)
        step = ToCodes(relation.codes)
        return Lowered(self.graph.step("to changelog", step, lowered.node, repr(relation.codes)), traits.APPEND)

    def _fromchangelog(self, relation: r.FromChangelog, before: bool) -> Lowered:
        lowered = self.lower(relation.input, True)
        if not lowered.changelog.insert_only:
            raise PlanError(
                "SQL_CHANGELOG",
                f"FROM_CHANGELOG takes a table without updates and deletes, but this one has [{lowered.changelog.kinds()}].",
            )
        step = FromCodes(relation.column, relation.codes, relation.input.row_type.fields[relation.column].name)
        meaning = repr((relation.column, relation.codes))
        changelog = traits.emitted(relation, [lowered.changelog])
        return Lowered(self.graph.step("from changelog", step, lowered.node, meaning), changelog)

    def _tablefunctioncall(self, call: r.TableFunctionCall, before: bool) -> Lowered:
        lowered = self.lower(call.input, True)
        inner = column_types(call.input)
        types, results = [inner[a] for a in call.arguments], column_types(call)[len(inner) :]
        step = TableFunctionStep(call.function, call.arguments, types, results, call.outer, self.settings.zone)
        meaning = repr((call.function, call.arguments, call.outer))
        if not lowered.changelog.insert_only:
            check_retractable([call.function], self.settings)
        return Lowered(self.graph.step("table function", step, lowered.node, meaning), lowered.changelog)

    def _union(self, union: r.Union, before: bool) -> Lowered:
        lowered = [self.lower(relation, before) for relation in union.relations]
        logs = [one.changelog for one in lowered]
        changelog = Changelog(
            any(c.updates for c in logs), any(c.deletes for c in logs), all(c.before for c in logs if not c.insert_only)
        )
        return Lowered(self.graph.union([one.node for one in lowered]), changelog)
