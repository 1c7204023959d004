"""Delivery guarantees of sinks."""

from __future__ import annotations

from enum import Enum


class DeliveryGuarantee(Enum):
    """The guarantee of a sink for batches that fail and run again.

    EXACTLY_ONCE: consumers of committed data see each element once. AT_LEAST_ONCE: no element is lost, but some may be
    duplicated. NONE: elements may be lost or duplicated.
    """

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    NONE = "none"
