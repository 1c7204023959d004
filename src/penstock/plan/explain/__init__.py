"""Describes a plan before it runs: as text, JSON, Mermaid and SVG."""
