"""Plans of queries as JSON, which later versions of Penstock run as they are."""
