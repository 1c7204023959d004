"""Streams as tables and tables as streams."""
