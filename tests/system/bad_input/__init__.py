"""Bad input: a clear error that names the option, and no lost records."""
