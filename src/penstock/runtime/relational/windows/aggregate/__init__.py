"""Operators for aggregates per window and key, one per kind of window."""
