"""The metadata of a slot, which is stored together with its state."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.runtime.loop.channels import Channel, SplitTable
from penstock.runtime.state.tables import StateTable
from penstock.time import MIN_WATERMARK


class UpstreamClock(msgspec.Struct, array_like=True):
    """The last relay of an upstream operator: its watermark and batch."""

    channel: Channel
    batch: int = -1


class SlotMetadata(msgspec.Struct):
    """Clocks and tables of a slot."""

    batch: int = 0
    now: int = MIN_WATERMARK
    run: str = ""
    streams: dict[str, SplitTable] = {}
    edges: dict[str, UpstreamClock] = {}
    watermarks: dict[str, int] = {}
    tables: list[StateTable] = []
    broadcast: dict[
        str, int
    ] = {}  # by operator: a running hash of the changes to its broadcast state, equal in all slots
    ended: bool = False
    # By operator: the forms of its restored keys, until it has received its first elements. See `restored_keys.py`.
    key_forms: dict[str, list[Any]] = {}
