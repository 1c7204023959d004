"""The file source and sink, and the file systems that they use."""
