"""Parquet and ORC files, read and written through Arrow."""
