"""The catalog of type 'spark'."""
