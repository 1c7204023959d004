"""The command `penstock sql`."""
