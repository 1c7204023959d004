"""A job as its own process sees it: updates its registry entry and executes requests."""
