"""The checkpoint folder of a job: its description, its lock, and the folders of sources and sinks."""
