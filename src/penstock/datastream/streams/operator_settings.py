"""Settings of operators and sinks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from penstock.connectors.basic_sinks import CollectSink
from penstock.errors import UnsupportedOperation, warn_ignored
from penstock.plan.nodes import Node, SinkNode, SourceNode, WatermarkNode

if TYPE_CHECKING:
    from penstock.datastream.environment import StreamExecutionEnvironment


class OperatorSettings:
    """The operator that produces a stream, and its settings. Each method returns the same stream."""

    def __init__(self, env: StreamExecutionEnvironment, node: Node) -> None:
        self._env = env
        self._node = node

    def name(self, name: str) -> Self:
        """Sets the name of the operator in errors, logs, metrics and reports."""
        return self._apply_setting("name", name=name)

    def uid(self, uid: str) -> Self:
        """Sets the uid of the operator, which identifies its state and its source position in checkpoints and savepoints."""
        node = self._node
        if isinstance(node, WatermarkNode) and node.of_source:  # the uid is meant for the source
            self._env.replace(replace(self._env.nodes()[node.inputs[0]], uid=uid, named=True))
            return self._apply_setting("uid", uid=f"{uid}-watermarks", named=True)
        return self._apply_setting("uid", uid=uid, named=True)

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Not supported. Checkpoints identify operators by uid."""
        raise UnsupportedOperation(
            "UID_HASH",
            "set_uid_hash() sets the hash of an operator in Flink. Penstock has no such hashes and finds state by uid. Call uid() "
            "with the uid that was used when the checkpoint was written.",
        )

    def set_parallelism(self, parallelism: int) -> Self:
        """Sets the number of subtasks of the operator, at most the parallelism of the job.

        It has no effect on a source or a sink, because Spark plans the tasks that read and write a batch.
        """
        if isinstance(self._node, (SourceNode, SinkNode)) and not isinstance(
            getattr(self._node, "sink", None), CollectSink
        ):
            warn_ignored(
                f"set_parallelism() has no effect on '{self._node.name}'. Spark plans the tasks that read sources and write sinks."
            )
        return self._apply_setting("parallelism", parallelism=parallelism)

    def set_description(self, description: str) -> Self:
        """Sets the description of the operator in plans. Names and logs do not change."""
        return self._apply_setting("description", description=description)

    def disable_chaining(self) -> Self:
        """Accepted for compatibility, has no effect. Operators without an exchange between them always run in one process."""
        stream = self._apply_setting("chaining")
        warn_ignored(
            "disable_chaining() has no effect. Operators without an exchange between them always run in one process."
        )
        return stream

    def slot_sharing_group(self, slot_sharing_group: Any) -> Self:
        """Accepted for compatibility, has no effect. All operators of a job share the slots of its Spark query."""
        stream = self._apply_setting("slot sharing group")
        warn_ignored("slot_sharing_group() has no effect. All operators of a job share the slots of its Spark query.")
        return stream

    def _apply_setting(self, setting: str, **fields: Any) -> Self:
        if fields:
            self._node = self._env.replace(replace(self._node, **fields))
        return self
