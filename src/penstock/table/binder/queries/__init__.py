"""Binds queries: finds tables and columns, derives types and builds relations."""
