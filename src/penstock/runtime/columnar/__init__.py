"""Columnar window operators: the same results as WindowOperator for named aggregates, without a call per element."""
