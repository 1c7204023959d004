"""CSV messages and files."""
