"""Jobs: the registry, actions on jobs, their diagnosis, and the run of a job in its own process."""
