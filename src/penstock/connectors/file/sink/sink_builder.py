"""Collects the settings of a file sink, in Flink's way."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from penstock.connectors.encoder import Encoder
from penstock.connectors.file.bucket_assigner import BucketAssigner
from penstock.connectors.file.compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.file.output_file_config import OutputFileConfig
from penstock.connectors.file.rolling_policy import OnCheckpointRollingPolicy, RollingPolicy
from penstock.errors import ConfigError

if TYPE_CHECKING:
    from penstock.connectors.file.sink import FileSink


class SinkBuilder:
    """What row and bulk formats have in common."""

    def __init__(self, base_path: str | os.PathLike[str]) -> None:
        self._path = base_path
        self._files = OutputFileConfig()
        self._buckets = BucketAssigner.date_time_bucket_assigner()
        self._compaction: tuple[FileCompactStrategy, FileCompactor] | None = None
        self._options: Mapping[str, Any] = {}

    def with_bucket_check_interval(self, interval: int) -> Self:
        """Accepted, and changes nothing: a batch runs at the time when a file is due."""
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
        self._buckets = bucket_assigner
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
        self._files = output_file_config
        return self

    def with_storage_options(self, options: Mapping[str, Any]) -> Self:
        """Options of the path's file system, such as `endpoint_override` of S3."""
        self._options = options
        return self

    def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
        """Joins small files before they become visible, when the strategy says so; at the job's end in any case."""
        self._compaction = (strategy, compactor)
        return self

    def disable_compact(self) -> Self:
        self._compaction = None
        return self


class RowFormatBuilder(SinkBuilder):
    """Collects the settings of a sink that writes one element after the other."""

    def __init__(self, base_path: str | os.PathLike[str], encoder: Encoder) -> None:
        super().__init__(base_path)
        self._encoder = encoder
        self._rolling: RollingPolicy = RollingPolicy.default_rolling_policy()

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
        self._rolling = rolling_policy
        return self

    def build(self) -> FileSink:
        from penstock.connectors.file.sink import FileSink

        return FileSink(
            self._path,
            self._encoder,
            files=self._files,
            rolling=self._rolling,
            buckets=self._buckets,
            compaction=self._compaction,
            storage_options=self._options,
        )


class BulkFormatBuilder(SinkBuilder):
    """Collects the settings of a sink of files that are written as a whole. They end with each batch."""

    def __init__(self, base_path: str | os.PathLike[str], writer_factory: Any) -> None:
        super().__init__(base_path)
        self._factory = writer_factory

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
        if not isinstance(rolling_policy, OnCheckpointRollingPolicy):
            raise ConfigError(
                "ROLLING_POLICY",
                f"A bulk format got {type(rolling_policy).__name__}. Its files cannot be written on after a batch: use "
                "RollingPolicy.on_checkpoint_rolling_policy(), and enable_compact to have fewer files.",
            )
        return self

    def build(self) -> FileSink:
        from penstock.connectors.file.sink import FileSink

        return FileSink(
            self._path,
            bulk_writer=self._factory,
            files=self._files,
            rolling=RollingPolicy.on_checkpoint_rolling_policy(),
            buckets=self._buckets,
            compaction=self._compaction,
            storage_options=self._options,
        )
