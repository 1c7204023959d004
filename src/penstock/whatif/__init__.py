"""What if: several versions of a job over the same input, and the repair of what a sink holds."""
