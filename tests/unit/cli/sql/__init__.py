"""Tests of the SQL client."""
