"""Stateful operators on columns. Each compiles a specification of `runtime/relational/specs`; none knows SQL."""
