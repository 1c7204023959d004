"""Evolution of state: shapes of stored types, their comparison, and the conversion of stored values and keys."""
