"""Lists the slowest tests of the last run of scripts/run_tests.py: slowest_tests.py [NUMBER]"""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

RESULTS = Path(__file__).resolve().parent.parent / "build" / "test-results"


def main(number: int) -> int:
    tests = [
        (float(case.get("time", 0)), f"{case.get('classname')}::{case.get('name')}", file.stem)
        for file in sorted(RESULTS.glob("*.xml"))
        for case in ElementTree.parse(file).iter("testcase")
    ]
    if not tests:
        print(f"No results in {RESULTS}. Run: make test", file=sys.stderr)
        return 1
    for seconds, name, run in sorted(tests, reverse=True)[:number]:
        print(f"{seconds:7.1f} s  {run:5}  {name}")
    print(f"{sum(seconds for seconds, _, _ in tests):7.1f} s  in {len(tests)} tests")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 40))
