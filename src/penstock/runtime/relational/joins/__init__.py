"""Operators that join two inputs, and what they share."""
