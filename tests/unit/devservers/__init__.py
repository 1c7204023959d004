"""Jars, servers for development, and the servers of the tests themselves."""
