"""Statements of materialized tables: they start and stop the jobs that keep the tables up to date."""
