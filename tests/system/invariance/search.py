"""Searches for programs whose results depend on batches. Prints the smallest program of each kind of failure, or keeps it.

python -m tests.system.invariance.search --examples 20000 --keep
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import time
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.system.invariance.comparison import check
from tests.system.invariance.program import Example
from tests.system.invariance.reduction import reduce_example
from tests.system.invariance.strategies import examples

CASES = Path(__file__).parent / "cases"


def failure(example: Example) -> tuple[str, str] | None:
    """Returns the kind of the failure of an example and its text, or None."""
    try:
        check(example)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, AssertionError) and (found := re.search(r"'stage(\d+)", text)):
            return f"difference of {type(example.program.stages[int(found[1])].operation).__name__}", text
        return re.sub(r"\d+", "#", text.splitlines()[0][:160]), text
    return None


def search(number: int, start: int, size: int, limit: float) -> dict[str, Example]:
    """Returns an example of each kind of failure that was found, the one with the shortest description."""
    found: dict[str, Example] = {}
    end, ran = time.monotonic() + limit, 0

    @seed(start)
    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(example=examples(size=size))
    def run(example: Example) -> None:
        nonlocal ran
        if time.monotonic() > end:
            raise TimeoutError
        ran += 1
        if ran % 500 == 0:
            print(f"{ran} examples ran", flush=True)
        failed = failure(example)
        if failed is None:
            return
        if failed[0] not in found:
            print(f"\n{failed[0]}\n{failed[1]}\n{example}", flush=True)
        if failed[0] not in found or len(repr(example)) < len(repr(found[failed[0]])):
            found[failed[0]] = example

    with suppress(TimeoutError):
        run()
    print(f"{ran} examples ran")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=16, help="maximum number of input items")
    parser.add_argument("--seconds", type=float, default=3600, help="time limit of the search")
    parser.add_argument("--keep", action="store_true", help="store failing examples as cases")
    arguments = parser.parse_args()
    found = search(arguments.examples, arguments.seed, arguments.size, arguments.seconds)
    for kind, example in found.items():
        smallest = reduce_example(example, lambda e, kind=kind: (failure(e) or [""])[0] == kind)  # type: ignore[misc]
        print(f"\nsmallest: {kind}\n{(failure(smallest) or ['', 'not repeatable'])[1]}\n{smallest}", flush=True)
        if arguments.keep:
            name = hashlib.sha256(smallest.to_json().encode()).hexdigest()[:12]
            (CASES / f"{name}.json").write_text(smallest.to_json() + "\n", encoding="utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
