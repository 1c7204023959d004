"""Specifications of relational operators: plain data that prints, compares and travels inside plans."""
