"""The durable state of a slot: the state log in Spark's state store, and the working copy on local disk."""
