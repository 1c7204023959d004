"""Binds calls of process table functions."""
