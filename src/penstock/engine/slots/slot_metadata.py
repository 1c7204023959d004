"""What a slot remembers beside its state, between two batches."""

from __future__ import annotations

import msgspec

from penstock.runtime.channels import Channel, SplitTable
from penstock.runtime.state.backend import Table
from penstock.time import MIN_WATERMARK


class Edge(msgspec.Struct, array_like=True):
    """What is known of an upstream operator."""

    channel: Channel
    batch: int = -1


class SlotMeta(msgspec.Struct):
    """A slot's clocks and tables; stored with its state."""

    batch: int = 0
    now: int = MIN_WATERMARK
    run: str = ""
    streams: dict[str, SplitTable] = {}
    edges: dict[str, Edge] = {}
    watermarks: dict[str, int] = {}
    tables: list[Table] = []
    broadcast: dict[str, int] = {}  # a running hash of each operator's changes to broadcast state: equal in all slots
    ended: bool = False
