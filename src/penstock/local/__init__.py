"""The engine that runs jobs in this process, without Java: the batches of a program, their checkpoint, and the job around them."""
