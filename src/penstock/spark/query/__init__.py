"""The Structured Streaming query of a job, and what runs in its tasks."""
