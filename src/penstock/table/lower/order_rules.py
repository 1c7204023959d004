"""Rules of relations that depend on the order of rows: ranks, OVER, ORDER BY and MATCH_RECOGNIZE."""

from __future__ import annotations

from penstock.errors import PlanError
from penstock.runtime.relational.specs import operators as specs
from penstock.table import relations as r
from penstock.table import traits
from penstock.table.lower.base_rules import BaseRules, Lowered, column_types
from penstock.table.lower.match import match_spec
from penstock.table.lower.python_aggregates import check_over
from penstock.table.traits import Changelog


class OrderRules(BaseRules):
    """Relations that depend on the order of rows."""

    def _windowrank(self, rank: r.WindowRank, before: bool) -> Lowered:
        lowered = self.lower(rank.input, True)
        self._refuse_changes(lowered, "A ranking within windows")
        spec = specs.WindowRankSpec(
            input_types=column_types(rank.input),
            output_types=column_types(rank),
            keys=rank.partition,
            order=rank.order,
            start=rank.start,
            end=rank.end,
            outputs_rank=rank.outputs_rank,
            end_column=rank.end_column,
            event_time=rank.event_time,
            zone=rank.zone,
        )
        return Lowered(self._operator("window rank", spec, lowered.node, spec.input_types), traits.APPEND)

    def _rank(self, rank: r.Rank, before: bool) -> Lowered:
        lowered = self.lower(rank.input, True)
        keys = sorted(traits.upsert_keys(rank.input), key=lambda key: (len(key), sorted(key)))
        spec = specs.RankSpec(
            input_types=column_types(rank.input),
            output_types=column_types(rank),
            keys=rank.partition,
            order=rank.order,
            start=rank.start,
            end=rank.end,
            outputs_rank=rank.outputs_rank,
            function=rank.function,
            insert_only=lowered.changelog.insert_only,
            upsert_key=tuple(sorted(keys[0])) if keys else (),
            update_before=before,
            ttl=self.state_ttl(rank),
        )
        node = self._operator("rank", self._all_versions(spec), lowered.node, spec.input_types)
        return Lowered(node, Changelog(updates=True, deletes=True, before=before))

    def _deduplicate(self, relation: r.Deduplicate, before: bool) -> Lowered:
        lowered = self.lower(relation.input, True)
        if not lowered.changelog.insert_only:
            return self._rank(traits.as_rank(relation), before)
        spec = specs.DeduplicateSpec(
            input_types=column_types(relation.input),
            output_types=column_types(relation),
            keys=relation.partition,
            keep_last=relation.keep_last,
            time_column=relation.time_column,
            event_time=traits.is_rowtime(relation.input, relation.time_column),
            outputs_rank=relation.outputs_rank,
            insert_only=lowered.changelog.insert_only,
            update_before=before,
            ttl=self.state_ttl(relation),
        )
        node = self._operator("deduplicate", self._all_versions(spec), lowered.node, spec.input_types)
        return Lowered(node, traits.emitted(relation, [lowered.changelog])._replace(before=before))

    def _over(self, over: r.Over, before: bool) -> Lowered:
        self._check_over(over)
        check_over(over.calls, self.settings.batch_mode)
        lowered = self.lower(over.input, True)
        spec = traits.over_spec(over, lowered.changelog.insert_only, before, self.state_ttl(over))
        node = self._operator("over", spec, lowered.node, spec.input_types)
        if traits.over_leaves_once(over, lowered.changelog):
            return Lowered(node, traits.APPEND)
        return Lowered(node, Changelog(updates=True, deletes=True, before=before))

    def _check_over(self, over: r.Over) -> None:
        first = over.order[0] if over.order else None
        if first is None or first.ascending or self.settings.batch_mode:
            return
        if traits.is_rowtime(over.input, first.column) or traits.is_proctime(over.input, first.column):
            raise PlanError(
                "SQL_OVER_ORDER",
                "OVER is ordered by a time attribute in descending order. In streaming mode, the order must be ascending (ASC), "
                "because later rows are not known yet.",
            )

    def _sort(self, sort: r.Sort, before: bool) -> Lowered:
        if sort.limit is None and not self.settings.batch_mode and not traits.orders_by_time(sort):
            raise PlanError(
                "SQL_SORT",
                "Sort without LIMIT is only supported by a time attribute in ascending order, because other rows may come before "
                "those that were emitted. Order by a time attribute, or add LIMIT.",
            )
        lowered = self.lower(sort.input, True)
        types = column_types(sort.input)
        whole = sort.limit is None and not sort.offset
        if whole and traits.orders_by_time(sort) and lowered.changelog.insert_only:
            in_event_time = traits.is_rowtime(sort.input, sort.order[0].column)
            temporal = specs.TemporalSortSpec(
                input_types=types, output_types=types, order=sort.order, event_time=in_event_time
            )
            return Lowered(self._operator("temporal sort", temporal, lowered.node, types), traits.APPEND)
        spec = specs.SortLimitSpec(
            input_types=types,
            output_types=types,
            order=sort.order,
            start=sort.offset,
            end=2**62 if sort.limit is None else sort.offset + sort.limit,
            insert_only=lowered.changelog.insert_only,
            update_before=before,
            ttl=self.state_ttl(sort),
        )
        node = self._operator("sort and limit", spec, lowered.node, types)
        return Lowered(node, Changelog(updates=True, deletes=True, before=before))

    def _match(self, match: r.Match, before: bool) -> Lowered:
        lowered = self.lower(match.input, True)
        spec = match_spec(match, lowered.changelog, self.settings.zone)
        return Lowered(self._operator("match", spec, lowered.node, spec.input_types), traits.APPEND)
