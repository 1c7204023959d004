"""Patterns of events."""
