"""Secrets are used and redacted everywhere."""
