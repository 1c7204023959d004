"""Savepoints on Spark: written by slots, restored into slots, read in tasks."""
