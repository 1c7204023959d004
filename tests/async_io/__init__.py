"""Asynchronous calls: on streams, by key with a cache, and what services do to them."""
