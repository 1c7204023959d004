"""Operators: process functions, joins, co-groups and cached lookups."""
