"""Access to a submitted job: client, result, status, iterator."""
