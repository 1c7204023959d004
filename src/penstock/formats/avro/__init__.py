"""Avro messages and files, with and without a schema registry."""
