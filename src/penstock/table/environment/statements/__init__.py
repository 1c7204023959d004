"""One module per family of statements: each takes a session and a statement and returns an answer."""
