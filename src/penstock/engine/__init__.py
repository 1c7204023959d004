"""A job as programs that run anywhere: what the harness and Spark share."""
