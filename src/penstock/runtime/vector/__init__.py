"""Windows of named aggregates by whole columns: the same results as the window operator's, without a call per element."""
