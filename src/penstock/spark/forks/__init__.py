"""The processes of Spark on a local master: one process forks them, and passes calls of Spark to them."""
