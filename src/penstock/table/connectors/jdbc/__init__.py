"""The connector 'jdbc': tables of a PostgreSQL database."""
