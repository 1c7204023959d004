"""Writes the expected checksums of all jars. Run it after a version in devservers/versions.py was changed.

Downloads jars that are not in the cache. Review the changes before you commit them.
"""

from __future__ import annotations

import json
from pathlib import Path

from penstock.devservers.jars import get_jars, recorded_checksums
from penstock.devservers.versions import BUNDLES

FILE = Path(__file__).resolve().parent.parent / "src/penstock/devservers/known_checksums.json"


def main() -> None:
    FILE.write_text("{}\n")  # so that checksums of earlier versions are not compared
    known = {jars.folder.name: recorded_checksums(jars.folder) for jars in map(get_jars, BUNDLES)}
    FILE.write_text(json.dumps(known, indent=1) + "\n")
    print(f"Wrote {FILE}: {', '.join(known)}")


if __name__ == "__main__":
    main()
