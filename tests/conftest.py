"""Spark's Python workers must find the tests' own modules, wherever the session was started from."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = str(Path(__file__).parent.parent)
os.environ["PYTHONPATH"] = os.pathsep.join(p for p in (ROOT, os.environ.get("PYTHONPATH", "")) if p)
