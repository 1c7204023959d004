"""Metrics of user functions, and the totals of a job."""

from penstock.metrics.metric import Counter, Distribution, Meter, Metric, MetricGroup
from penstock.metrics.totals import JobMetrics

__all__ = ["Counter", "Distribution", "JobMetrics", "Meter", "Metric", "MetricGroup"]
