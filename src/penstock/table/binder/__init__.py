"""From syntax to typed trees: names, types, functions."""
