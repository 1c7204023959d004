"""How results are written and shown."""
