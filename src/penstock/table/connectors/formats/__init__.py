"""Formats of tables by the option 'format'."""
