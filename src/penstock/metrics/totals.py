"""The metrics of a whole job, added up over its batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from penstock.metrics.labels import labels
from penstock.metrics.values import (
    CounterValue,
    DistributionValue,
    GaugeValue,
    MeterValue,
    MetricValue,
    Told,
    following,
)


class JobMetrics(msgspec.Struct):
    """What functions measured, by operator, subtask and name. Only batches that were committed count.

    >>> from penstock.metrics.values import OperatorMetrics
    >>> metrics = JobMetrics()
    >>> metrics.add([(0, {"u": OperatorMetrics("count", {"seen": CounterValue(2)})})])
    >>> metrics.add([(1, {"u": OperatorMetrics("count", {"seen": CounterValue(3)})})])
    >>> metrics.get("count", "seen"), metrics.accumulators()
    (5, {'count.seen': 5})
    """

    operators: dict[str, str] = {}  # names by uid
    subtasks: dict[str, dict[int, dict[str, MetricValue]]] = {}  # by uid, subtask and metric

    def add(self, told: Iterable[tuple[int, Told]]) -> None:
        """Takes in what subtasks told at the end of a batch."""
        for subtask, of_operators in told:
            for uid, metrics in of_operators.items():
                self.operators[uid] = metrics.operator
                totals = self.subtasks.setdefault(uid, {}).setdefault(subtask, {})
                for name, value in metrics.values.items():
                    totals[name] = following(value, totals.get(name))

    def get(self, operator: str, metric: str) -> Any:
        """A metric of an operator (by name or uid), over all its subtasks; None when nobody has registered it."""
        found = [
            values[metric]
            for uid, subtasks in self.subtasks.items()
            if operator in (uid, self.operators[uid])
            for values in (subtasks[number] for number in sorted(subtasks))
            if metric in values
        ]
        return _plain(found) if found else None

    def accumulators(self, called: Mapping[str, str] | None = None) -> dict[str, Any]:
        """All metrics over all subtasks, as `operator.metric`; operators of one name are told apart by their uids.

        `called` has what the operators of the whole job are called, by uid.
        """
        called = {**labels(self.operators), **(called or {})}
        found: dict[str, list[MetricValue]] = {}
        for uid, subtasks in self.subtasks.items():
            for number in sorted(subtasks):
                for metric, value in subtasks[number].items():
                    found.setdefault(f"{called[uid]}.{metric}", []).append(value)
        return {name: _plain(found[name]) for name in sorted(found)}


def _plain(values: list[MetricValue]) -> Any:
    """Several subtasks' values of a metric as one: sums, a distribution as a dict, a gauge as a list when they are many."""
    first = values[0]
    if isinstance(first, CounterValue | MeterValue):
        return sum(v.count for v in values if isinstance(v, CounterValue | MeterValue))
    if isinstance(first, GaugeValue):
        told = [v.value for v in values if isinstance(v, GaugeValue)]
        return told[0] if len(told) == 1 else told
    total = DistributionValue()
    for value in values:
        if isinstance(value, DistributionValue):
            total = value.after(total)
    mean = total.sum / total.count if total.count else None
    return {"count": total.count, "sum": total.sum, "min": total.least, "max": total.most, "mean": mean}
