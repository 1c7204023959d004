"""Aggregate functions: how calls are typed, and accumulators on columns that operators share."""
