"""The text of parsed expressions and queries, in the form that Flink stores and shows."""
