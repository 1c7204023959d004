"""The registry of runs: what each job of this machine is, how it goes, and how to ask it to end."""
