"""Formats of tables: records as bytes to columns, and columns to bytes."""
