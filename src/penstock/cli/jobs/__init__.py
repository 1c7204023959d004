"""Commands for jobs in the registry: list, info, logs, stop, cancel, limit, rescale, checkpoints, diagnose."""
