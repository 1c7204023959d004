"""Writes docs/reference/table-parity.md, the list of names of PyFlink's Table API that Penstock supports.

python scripts/make_table_parity.py          writes the page
python scripts/make_table_parity.py --check  exits with 1 if the page is out of date
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for tests/parity, which calls the names

from tests.parity.tables.page import page  # noqa: E402

TARGET = ROOT / "docs" / "reference" / "table-parity.md"


def main() -> int:
    text = page()
    if "--check" not in sys.argv:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    print("docs/reference/table-parity.md is out of date. Run: python scripts/make_table_parity.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
