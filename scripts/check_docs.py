"""Checks that the target of every relative link in the documents exists.

Run by `make check`. Prints one line per broken reference and exits with 1 if there is any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def documents() -> Iterator[Path]:
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted((ROOT / "docs").rglob("*.md"))


def broken_references() -> Iterator[str]:
    for document in documents():
        name = document.relative_to(ROOT)
        for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
            for target in LINK.findall(line):
                if not (document.parent / target).exists():
                    yield f"{name}:{number}: the target of the link {target} does not exist"


def main() -> int:
    broken = list(broken_references())
    for line in broken:
        print(line, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
