"""How results, progress and errors are printed."""
