"""The checkpoint folder of a job: its lock, its logs, its repair, and storage failures."""
