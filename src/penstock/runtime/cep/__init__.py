"""Matching patterns: a pattern is compiled into an automaton, whose partial matches are state of a key."""
