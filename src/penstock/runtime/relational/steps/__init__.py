"""Stateless steps on columns: decoding, projections and filters, grouping sets, and the output of rows."""
