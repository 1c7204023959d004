"""MATCH_RECOGNIZE: finds patterns in the rows of each partition."""
