"""Relational operators on Arrow columns. They compile plain data that the layer `table` produces, and never see SQL."""
