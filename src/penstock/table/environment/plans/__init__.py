"""Compiled plans as programs see them."""
