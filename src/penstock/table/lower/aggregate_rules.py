"""Rules of aggregates, with and without windows, and of process table functions."""

from __future__ import annotations

import msgspec

from penstock.errors import PlanError
from penstock.runtime.relational.aggregates.registry import AGGREGATE_FUNCTIONS
from penstock.runtime.relational.specs import operators as specs
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.specs.process_table import ProcessTableSpec
from penstock.runtime.relational.steps.slice_partials import SlicePartialsStep, can_be_partial
from penstock.table import relations as r
from penstock.table import traits
from penstock.table.lower.base_rules import BaseRules, Lowered, column_types
from penstock.table.lower.python_aggregates import with_python_calls
from penstock.table.traits import Changelog


class AggregateRules(BaseRules):
    """Relations with a result per key, or per window of a key."""

    def _aggregate(self, aggregate: r.Aggregate, before: bool) -> Lowered:
        if aggregate.group_window is not None:
            raise PlanError("SQL_UNSUPPORTED", "A group window was not planned as a window aggregate.")
        if not self.settings.batch_mode and any(_depends_on_order(call) for call in aggregate.calls):
            lowered = self._lower_every_change(aggregate.input, True)  # updates move values to the end
        else:
            lowered = self.lower(aggregate.input, True)
        spec = specs.GroupAggregateSpec(
            input_types=column_types(aggregate.input),
            output_types=column_types(aggregate),
            keys=aggregate.keys,
            calls=aggregate.calls,
            insert_only=lowered.changelog.insert_only,
            update_before=before,
            ttl=self.state_ttl(aggregate),
        )
        spec = with_python_calls(spec, self.settings.batch_mode)
        node = self._operator("group aggregate", self._all_versions(spec), lowered.node, spec.input_types)
        return Lowered(node, traits.emitted(aggregate, [lowered.changelog])._replace(before=before))

    def _tableaggregate(self, aggregate: r.TableAggregate, before: bool) -> Lowered:
        lowered = self.lower(aggregate.input, True)
        spec = specs.TableAggregateSpec(
            input_types=column_types(aggregate.input),
            output_types=column_types(aggregate),
            keys=aggregate.keys,
            calls=(aggregate.call,),
            insert_only=lowered.changelog.insert_only,
            ttl=self.state_ttl(aggregate),
        )
        spec = with_python_calls(spec, self.settings.batch_mode)
        node = self._operator("table aggregate", spec, lowered.node, spec.input_types)
        return Lowered(node, traits.emitted(aggregate, [lowered.changelog]))

    def _processtable(self, process: r.ProcessTable, before: bool) -> Lowered:
        lowered = self.lower(process.input, True)
        self._refuse_changes(lowered, f"The process table function '{process.function.label}'")
        spec = ProcessTableSpec(
            input_types=column_types(process.input),
            output_types=column_types(process),
            keys=process.keys,
            function=process.function,
            row_names=tuple(f.name for f in process.input.row_type.fields),
            emitted=process.emitted,
            arguments=process.arguments,
            time_column=process.time_column,
            zone=self.settings.zone,
        )
        return Lowered(self._operator("process table", spec, lowered.node, spec.input_types), traits.APPEND)

    def _windowaggregate(self, aggregate: r.WindowAggregate, before: bool) -> Lowered:
        if self.settings.batch_mode:  # no row is late
            lowered = self.lower(aggregate.input, True)
        else:  # the window of a row may end before the row is updated
            lowered = self._lower_every_change(aggregate.input, True)
        early, late, lateness = self._emit_options() if aggregate.legacy else (None, None, 0)
        self._check_window(aggregate, early is not None or late is not None)
        spec = specs.WindowAggregateSpec(
            input_types=column_types(aggregate.input),
            output_types=column_types(aggregate),
            keys=aggregate.keys,
            calls=aggregate.calls,
            window=aggregate.window,
            properties=aggregate.properties,
            legacy=aggregate.legacy,
            start_column=aggregate.start_column,
            end_column=aggregate.end_column,
            insert_only=lowered.changelog.insert_only,
            update_before=before,
            early=early,
            late=late,
            allow_lateness=lateness,
        )
        spec = with_python_calls(spec, self.settings.batch_mode)
        if can_be_partial(spec):
            partials = self.graph.step("slices", SlicePartialsStep(spec), lowered.node, repr(aggregate.window))
            keys, spec = tuple(range(len(spec.keys))), msgspec.structs.replace(spec, partials=True)
            types = [spec.input_types[k] for k in spec.keys]
            node = self.graph.operator("window aggregate", spec, [(partials, keys, types)])
        else:
            node = self._operator("window aggregate", spec, lowered.node, spec.input_types)
        updates = early is not None or late is not None
        return Lowered(node, Changelog(updates=updates, deletes=updates, before=before) if updates else traits.APPEND)

    def _check_window(self, aggregate: r.WindowAggregate, emits_updates: bool) -> None:
        window = aggregate.window
        if window.kind == "SESSION" and emits_updates:
            raise PlanError(
                "SQL_EMIT", "Session windows have no early and late results. Reset the options table.exec.emit.*."
            )
        if window.kind == "HOP" and not aggregate.legacy and aggregate.start_column < 0 and window.size % window.slide:
            raise PlanError(
                "SQL_WINDOW",
                f"HOP has a size of {window.size} ms, which is not a multiple of its slide of {window.slide} ms. Choose a size "
                "that is a multiple of the slide.",
            )


def _depends_on_order(call: AggregateCall) -> bool:
    """Whether the call must see each update of a row, wherever batches end."""
    function = AGGREGATE_FUNCTIONS.get(call.function)  # None: a function of the user
    return function is not None and function.ordered
