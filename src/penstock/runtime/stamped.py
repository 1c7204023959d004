"""An emission with a timestamp of its own."""

from __future__ import annotations

from typing import Any, NamedTuple


class Stamped(NamedTuple):
    """What an operator emits when the result's timestamp is not that of the element or timer that caused it.

    >>> Stamped("result", 9).timestamp
    9
    """

    value: Any
    timestamp: int
