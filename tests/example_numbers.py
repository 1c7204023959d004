"""How many examples property tests generate: few in `make test`, more in `make test-long` (tests/unit/test_many_examples.py)."""

from __future__ import annotations

import os

FACTOR = "PENSTOCK_TEST_EXAMPLES_FACTOR"


def examples(few: int) -> int:
    """Returns the number of examples for a run in which `make test` has `few`.

    >>> examples(30) % 30
    0
    """
    return few * int(os.environ.get(FACTOR, "1"))
