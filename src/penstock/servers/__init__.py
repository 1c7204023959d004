"""What runs outside Python: Java, jars, and servers for development and tests."""
