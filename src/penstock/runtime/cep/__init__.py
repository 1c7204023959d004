"""Pattern matching. A pattern is compiled into an automaton whose partial matches are keyed state."""
