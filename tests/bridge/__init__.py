"""The bridge to Spark: its DataFrames as sources, its sinks behind ours."""
