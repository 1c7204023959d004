"""Where the program is that runs scripts. Its own module, because the program imports what starts it."""

from __future__ import annotations

from pathlib import Path

PROGRAM = Path(__file__).parent / "program"
