"""EXPLAIN: the plan of a query for people."""
