"""Running logic: everything that gives meaning to time and state, as plain Python."""
