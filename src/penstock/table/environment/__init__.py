"""The environment in which SQL statements run, with PyFlink's names."""
