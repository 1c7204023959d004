"""Secrets are used, and shown nowhere."""
