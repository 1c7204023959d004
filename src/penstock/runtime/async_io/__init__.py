"""Asynchronous calls of user functions with bounded concurrency, timeouts and retries."""
