"""The builders of the file sink."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from penstock.connectors.encoder import Encoder
from penstock.connectors.file.sink.bucket_assigner import BucketAssigner
from penstock.connectors.file.sink.compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.file.sink.output_file_config import OutputFileConfig
from penstock.connectors.file.sink.rolling_policy import OnCheckpointRollingPolicy, RollingPolicy
from penstock.errors import ConfigError, warn_ignored

if TYPE_CHECKING:
    from penstock.connectors.file.sink.sink import FileSink


class SinkBuilder:
    """Settings of row and bulk formats."""

    def __init__(self, base_path: str | os.PathLike[str]) -> None:
        self._path = base_path
        self._files = OutputFileConfig()
        self._buckets = BucketAssigner.date_time_bucket_assigner()
        self._compaction: tuple[FileCompactStrategy, FileCompactor] | None = None
        self._options: Mapping[str, Any] = {}

    def with_bucket_check_interval(self, interval: int) -> Self:
        """Has no effect, because a batch runs when a file is due."""
        warn_ignored("with_bucket_check_interval() has no effect. A batch runs when the rolling policy closes a file.")
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
        """Sets the bucket assigner. The default is a bucket for each hour of processing time."""
        self._buckets = bucket_assigner
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
        """Sets prefix and suffix of file names."""
        self._files = output_file_config
        return self

    def with_storage_options(self, options: Mapping[str, Any]) -> Self:
        """Sets options of the file system, such as `endpoint_override` for S3."""
        self._options = options
        return self

    def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
        """Compacts small files before they become visible, as defined by the strategy and at the end of the job."""
        self._compaction = (strategy, compactor)
        return self

    def disable_compact(self) -> Self:
        """Disables compaction. This is the default."""
        self._compaction = None
        return self


class RowFormatBuilder(SinkBuilder):
    """Builds a FileSink that encodes elements one by one."""

    def __init__(self, base_path: str | os.PathLike[str], encoder: Encoder) -> None:
        super().__init__(base_path)
        self._encoder = encoder
        self._rolling: RollingPolicy = RollingPolicy.default_rolling_policy()
        self._has_policy = False

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
        """Sets the rolling policy. The default is `RollingPolicy.default_rolling_policy()`."""
        self._rolling = rolling_policy
        self._has_policy = not isinstance(
            rolling_policy, OnCheckpointRollingPolicy
        )  # each piece ends with its batch anyway
        return self

    def build(self) -> FileSink:
        from penstock.connectors.file.sink.sink import FileSink

        if self._compaction is not None and self._has_policy:
            warn_ignored(
                "with_rolling_policy() does not determine when files become visible, because compaction is enabled and its "
                "strategy does. Only the size of a rolling policy has an effect, on the files that are compacted."
            )

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
    """Builds a FileSink for bulk formats. Files are completed with each batch."""

    def __init__(self, base_path: str | os.PathLike[str], writer_factory: Any) -> None:
        super().__init__(base_path)
        self._factory = writer_factory

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
        """Accepts only `RollingPolicy.on_checkpoint_rolling_policy()`, which is the default."""
        if not isinstance(rolling_policy, OnCheckpointRollingPolicy):
            raise ConfigError(
                "ROLLING_POLICY",
                f"with_rolling_policy() of a bulk format got {type(rolling_policy).__name__}, but files of bulk formats cannot be "
                "continued after a batch. Use RollingPolicy.on_checkpoint_rolling_policy(), and enable_compact to get fewer files.",
            )
        return self

    def build(self) -> FileSink:
        from penstock.connectors.file.sink.sink import FileSink

        return FileSink(
            self._path,
            bulk_writer=self._factory,
            files=self._files,
            rolling=RollingPolicy.on_checkpoint_rolling_policy(),
            buckets=self._buckets,
            compaction=self._compaction,
            storage_options=self._options,
        )
