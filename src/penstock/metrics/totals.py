"""The metrics of a job, accumulated over its batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from penstock.metrics.labels import operator_labels
from penstock.metrics.values import (
    CounterValue,
    DistributionValue,
    GaugeValue,
    MeterValue,
    MetricsDelta,
    MetricValue,
    accumulate,
)


class JobMetrics(msgspec.Struct):
    """Metrics of user functions by operator, subtask and name. Only committed batches are included.

    >>> from penstock.metrics.values import OperatorMetrics
    >>> metrics = JobMetrics()
    >>> metrics.add([(0, {"u": OperatorMetrics("count", {"seen": CounterValue(2)})})])
    >>> metrics.add([(1, {"u": OperatorMetrics("count", {"seen": CounterValue(3)})})])
    >>> metrics.get("count", "seen"), metrics.accumulators()
    (5, {'count.seen': 5})
    """

    operators: dict[str, str] = {}  # names by uid
    subtasks: dict[str, dict[int, dict[str, MetricValue]]] = {}  # by uid, subtask and metric

    def add(self, deltas: Iterable[tuple[int, MetricsDelta]]) -> None:
        """Adds the changes of a batch, as pairs of subtask and changes by operator uid."""
        for subtask, operators in deltas:
            for uid, metrics in operators.items():
                self.operators[uid] = metrics.operator
                totals = self.subtasks.setdefault(uid, {}).setdefault(subtask, {})
                for name, value in metrics.values.items():
                    totals[name] = accumulate(value, totals.get(name))

    def get(self, operator: str, metric: str) -> Any:
        """The value of a metric over all subtasks of an operator, given by name or uid; None if it is not registered."""
        values = [
            metrics[metric]
            for uid, subtasks in self.subtasks.items()
            if operator in (uid, self.operators[uid])
            for metrics in (subtasks[number] for number in sorted(subtasks))
            if metric in metrics
        ]
        return _combine(values) if values else None

    def accumulators(self, called: Mapping[str, str] | None = None) -> dict[str, Any]:
        """All metrics over all subtasks by `operator.metric`. If operators have the same name, the uid is added.

        `called` are the labels of all operators of the job by uid.
        """
        labels = {**operator_labels(self.operators), **(called or {})}
        values: dict[str, list[MetricValue]] = {}
        for uid, subtasks in self.subtasks.items():
            for number in sorted(subtasks):
                for metric, value in subtasks[number].items():
                    values.setdefault(f"{labels[uid]}.{metric}", []).append(value)
        return {name: _combine(values[name]) for name in sorted(values)}


def _combine(values: list[MetricValue]) -> Any:
    """Combines the values of several subtasks: the sum, a distribution as a dict, gauges as a list if there are several."""
    first = values[0]
    if isinstance(first, CounterValue | MeterValue):
        return sum(v.count for v in values if isinstance(v, CounterValue | MeterValue))
    if isinstance(first, GaugeValue):
        gauges = [v.value for v in values if isinstance(v, GaugeValue)]
        return gauges[0] if len(gauges) == 1 else gauges
    total = DistributionValue()
    for value in values:
        if isinstance(value, DistributionValue):
            total = value.after(total)
    mean = total.sum / total.count if total.count else None
    return {"count": total.count, "sum": total.sum, "min": total.least, "max": total.most, "mean": mean}
