"""Files that earlier jobs left behind: finds them, and removes those that nothing needs."""
