"""Asynchronous calls: on streams, and by key with a cache."""
