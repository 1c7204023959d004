"""The registry of jobs on this machine: entries, requests to jobs, and their history."""
