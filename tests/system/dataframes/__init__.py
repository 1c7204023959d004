"""DataFrames as sources, and sinks of Spark."""
