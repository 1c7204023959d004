"""Keyed state as it runs: decoded values of one batch over the store."""
