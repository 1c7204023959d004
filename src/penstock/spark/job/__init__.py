"""A job on Spark: attempts, restarts, savepoints and registration."""
