"""Writes the checksums that the jars of the table's versions must have, after a version was changed.

Fetches what the cache does not hold. Look at the difference before it is committed.
"""

from __future__ import annotations

import json
from pathlib import Path

from penstock.servers.jars import checksums_in, jars_of
from penstock.servers.versions import BUNDLES

FILE = Path(__file__).resolve().parent.parent / "src/penstock/servers/known_checksums.json"


def main() -> None:
    FILE.write_text("{}\n")  # what was right for other versions must not refuse these
    known = {jars.folder.name: checksums_in(jars.folder) for jars in map(jars_of, BUNDLES)}
    FILE.write_text(json.dumps(known, indent=1) + "\n")
    print(f"wrote {FILE}: {', '.join(known)}")


if __name__ == "__main__":
    main()
