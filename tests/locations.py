"""Paths of the repository that tests use."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PROGRAMS = ROOT / "tests" / "programs"  # jobs that tests start in processes of their own
PYFLINK_EXAMPLES = ROOT / "build" / "pyflink-examples"
