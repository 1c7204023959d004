"""Typed expressions, and their compiler to Arrow kernels.

`tree.py` has the plain data, `compiler.py` turns it into a function of batches, `frame.py` has the rows it runs on.
"""
