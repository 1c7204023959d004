"""The end of a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.plan.nodes import Node

if TYPE_CHECKING:
    from penstock.datastream.environment import StreamExecutionEnvironment


class DataStreamSink:
    """The end of a stream."""

    def __init__(self, env: StreamExecutionEnvironment, node: Node) -> None:
        self._env = env
        self._node = node

    def name(self, name: str) -> DataStreamSink:
        self._node = self._env.replace(replace(self._node, name=name))
        return self

    def uid(self, uid: str) -> DataStreamSink:
        self._node = self._env.replace(replace(self._node, uid=uid))
        return self

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        self._node = self._env.replace(replace(self._node, parallelism=parallelism))
        return self
