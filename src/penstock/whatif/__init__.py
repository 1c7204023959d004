"""What-if runs: several versions of a job over the same input, and the replay of a job into its sinks."""
