"""Java, jars, and servers for development and tests."""
