"""Types of state as plain data, and how values of one become values of another."""
