"""The job graph: frozen nodes, stable operator ids, validation, levels."""

from penstock.plan.graph import JobGraph
from penstock.plan.levels import Levels, cut

__all__ = ["JobGraph", "Levels", "cut"]
