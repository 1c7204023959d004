"""What a sink promises when something fails."""

from __future__ import annotations

from enum import Enum


class DeliveryGuarantee(Enum):
    """What becomes of elements when a batch fails and runs again.

    EXACTLY_ONCE: readers of committed data see each element once. AT_LEAST_ONCE: nothing is lost, some elements may come
    twice. NONE: elements may be lost or come twice.
    """

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    NONE = "none"
