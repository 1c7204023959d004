"""Casts between logical types on columns, with Flink's rules."""
