"""Tables of Spark's catalogs as sources and sinks of columns. This package does not import Spark."""
