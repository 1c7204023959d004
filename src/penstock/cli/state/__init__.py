"""The command that reads the state of a job, a checkpoint or a savepoint."""
