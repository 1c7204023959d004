"""A stream whose every element reaches every subtask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.plan.nodes import Node
from penstock.state import MapStateDescriptor

if TYPE_CHECKING:
    from penstock.datastream.environment import StreamExecutionEnvironment


class BroadcastStream:
    """A stream whose every element reaches every subtask, and the states that it feeds."""

    def __init__(
        self, env: StreamExecutionEnvironment, node: Node, descriptors: tuple[MapStateDescriptor, ...]
    ) -> None:
        self._env = env
        self._node = node
        self.descriptors = descriptors
