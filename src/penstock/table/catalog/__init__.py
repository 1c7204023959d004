"""Catalogs: tables, views and functions by name."""
