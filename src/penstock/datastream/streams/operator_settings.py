"""What can be set on an operator or a sink after it was made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from penstock.errors import UnsupportedOperation
from penstock.plan.nodes import Node, WatermarkNode

if TYPE_CHECKING:
    from penstock.datastream.environment import StreamExecutionEnvironment


class OperatorSettings:
    """The last step of a stream, and its settings. Each method gives the same stream back."""

    def __init__(self, env: StreamExecutionEnvironment, node: Node) -> None:
        self._env = env
        self._node = node

    def name(self, name: str) -> Self:
        """Names the operator in errors, logs, metrics and reports."""
        return self._changed("name", name=name)

    def uid(self, uid: str) -> Self:
        """Names the operator's state in checkpoints and savepoints, and a source's position."""
        node = self._node
        if isinstance(node, WatermarkNode) and node.of_source:  # people name the source that they made
            self._env.replace(replace(self._env.nodes()[node.inputs[0]], uid=uid, named=True))
            return self._changed("uid", uid=f"{uid}-watermarks", named=True)
        return self._changed("uid", uid=uid, named=True)

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Not supported: checkpoints of Penstock know operators by uid."""
        raise UnsupportedOperation(
            "UID_HASH",
            "set_uid_hash() gives an operator the hash that Flink made for it. Penstock finds state by uid and has no "
            "such hashes: call uid() with the uid that the checkpoint was written with.",
        )

    def set_parallelism(self, parallelism: int) -> Self:
        """How many subtasks the operator has; at most the job's parallelism."""
        return self._changed("parallelism", parallelism=parallelism)

    def set_description(self, description: str) -> Self:
        """A longer text for plans; names and logs do not change."""
        return self._changed("description", description=description)

    def disable_chaining(self) -> Self:
        """Accepted, and changes nothing: chaining never changes a result, and Penstock runs the steps between two
        exchanges in one Python process, where a further exchange would only cost time.
        """
        return self._changed("chaining")

    def slot_sharing_group(self, slot_sharing_group: Any) -> Self:
        """Accepted, and changes nothing: all operators of a job share the slots of its one Spark query."""
        return self._changed("slot sharing group")

    def _changed(self, setting: str, **fields: Any) -> Self:
        if fields:
            self._node = self._env.replace(replace(self._node, **fields))
        return self
