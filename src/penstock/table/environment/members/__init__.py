"""Groups of methods of a table environment."""
