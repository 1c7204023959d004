"""State of relational operators: tables of bytes that operators read and write by key, many keys at once."""
