"""The engine: compiles jobs into programs and runs them. The harness and Spark both use it."""
