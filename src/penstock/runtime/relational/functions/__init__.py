"""The scalar functions: name, type rule, kernel and documentation of each in one place, one file per family.

They are below `table`, because the same definition types a call when a query is planned and computes it in the workers.
"""
