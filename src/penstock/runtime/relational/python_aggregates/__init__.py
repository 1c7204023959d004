"""Aggregate functions and table aggregate functions that users write in Python."""
