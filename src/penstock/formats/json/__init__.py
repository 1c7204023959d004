"""JSON formats of rows, dataclasses, structs and dicts."""
