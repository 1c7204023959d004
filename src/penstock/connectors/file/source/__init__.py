"""The file source: enumerates files, splits them and reads splits in tasks."""
