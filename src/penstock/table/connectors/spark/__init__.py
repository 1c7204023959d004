"""The connector 'spark': tables of Spark's catalogs."""
