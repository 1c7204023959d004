"""Writes docs/reference/parity.md, the list of PyFlink names that Penstock supports. Calls each name to find out.

python scripts/make_parity.py          writes the page
python scripts/make_parity.py --check  exits with 1 if the page is out of date
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for tests/parity, which calls the names

from tests.parity.page import page  # noqa: E402

TARGET = ROOT / "docs" / "reference" / "parity.md"

if __name__ == "__main__":
    text = page()
    if "--check" not in sys.argv:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
        print("docs/reference/parity.md is out of date. Run: python scripts/make_parity.py", file=sys.stderr)
        sys.exit(1)
