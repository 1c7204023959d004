"""Lookup joins: rows are joined with rows that another system has at that moment."""
