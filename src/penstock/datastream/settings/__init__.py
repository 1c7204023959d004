"""Settings of an environment: checkpoints, state backends, restart strategies, execution modes."""
