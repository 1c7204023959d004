"""Statements as frozen classes."""
