"""Connectors by their options: 'connector' = 'kafka' and so on."""
