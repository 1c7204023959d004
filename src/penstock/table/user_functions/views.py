"""Lists and maps inside accumulators of aggregate functions."""

from penstock.runtime.relational.python_aggregates.views import DataView, ListView, MapView

__all__ = ["DataView", "ListView", "MapView"]
