"""Turns relations into nodes: stateless relations become steps, others operators after an exchange."""

from __future__ import annotations

from penstock.table.lower.aggregate_rules import AggregateRules
from penstock.table.lower.join_rules import JoinRules
from penstock.table.lower.order_rules import OrderRules
from penstock.table.lower.table_rules import TableRules


class Lowering(TableRules, AggregateRules, OrderRules, JoinRules):
    """Adds the nodes of one statement. The rule of a relation is the method with its name. A relation that several others read is
    added once.
    """
