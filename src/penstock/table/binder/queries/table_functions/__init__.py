"""Binds the table functions that are built in, besides windows."""
