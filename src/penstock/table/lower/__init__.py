"""Turns relations into the nodes of a job graph."""
