"""Orders of rows: sort keys as bytes that compare like the values."""
