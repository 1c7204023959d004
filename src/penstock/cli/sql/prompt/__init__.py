"""The prompt of the client: editing, highlighting, completion, history, and results on the screen."""
