"""Flink's logical types: their text, their Arrow types, common types and the types of decimal arithmetic.

They are in a low layer, because the binder of SQL derives them and the operators at run time compile expressions by them.
"""
