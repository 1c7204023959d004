"""The job graph: immutable nodes with stable uids, validation, rewriting passes and levels."""

from penstock.plan.graph import JobGraph
from penstock.plan.levels import Levels, cut_into_levels

__all__ = ["JobGraph", "Levels", "cut_into_levels"]
