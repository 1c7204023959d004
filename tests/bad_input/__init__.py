"""Bad input: a clear error with the option that decides, and no record lost."""
