"""Running logic: the semantics of time and state, as plain Python."""
