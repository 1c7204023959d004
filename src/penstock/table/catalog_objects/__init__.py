"""What programs see of catalogs: names, columns, constraints, databases, tables, functions and their statistics."""
