"""Functions that programs write in Python for SQL and the Table API: decorators, base classes, and what they are bound to."""
