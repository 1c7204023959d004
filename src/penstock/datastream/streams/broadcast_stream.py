"""The `BroadcastStream`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.plan.nodes import Node
from penstock.state import MapStateDescriptor

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream

T = TypeVar("T")


class BroadcastStream(Generic[T]):
    """A stream whose elements are sent to all subtasks, with descriptors of broadcast state. Pass it to `connect`."""

    def __init__(
        self,
        input_stream: DataStream[T],
        node: Node,
        broadcast_state_descriptors: tuple[MapStateDescriptor[Any, Any], ...],
    ) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors
        self._node = node
