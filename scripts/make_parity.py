"""Writes docs/reference/parity.md: which of PyFlink's names Penstock has, found by calling them.

python scripts/make_parity.py          writes it
python scripts/make_parity.py --check  says whether it is out of date, and exits with 1 if it is
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the names are called by tests/parity

from tests.parity.page import page  # noqa: E402

TARGET = ROOT / "docs" / "reference" / "parity.md"

if __name__ == "__main__":
    made = page()
    if "--check" not in sys.argv:
        TARGET.write_text(made, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != made:
        print("docs/reference/parity.md is out of date. Run: python scripts/make_parity.py", file=sys.stderr)
        sys.exit(1)
