"""Texts, patterns and formats as Java defines them, because Flink's functions expose them to users."""
