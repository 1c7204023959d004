"""State of queries that have changed: what an operator means, which state of another query it can use, and how it is rewritten."""
