"""Savepoints of queries: finds the state of a changed query by what its operators mean."""
