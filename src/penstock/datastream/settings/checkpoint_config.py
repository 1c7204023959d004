"""`CheckpointConfig` of PyFlink. Every committed batch is a checkpoint, so some of its settings have no effect."""

from __future__ import annotations

from penstock.config import Configuration, Option
from penstock.config.checkpoint_options import (
    ALIGNMENT_TIMEOUT,
    CHECKPOINT_FAILURES,
    CHECKPOINT_INTERVAL,
    CHECKPOINT_PAUSE,
    CHECKPOINT_RETENTION,
    CHECKPOINT_TIMEOUT,
    CHECKPOINTING_MODE,
    CHECKPOINTS_AT_ONCE,
    UNALIGNED,
    UNALIGNED_FORCED,
)
from penstock.datastream.settings.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    configured_storage,
)
from penstock.datastream.settings.modes import CheckpointingMode, ExternalizedCheckpointRetention
from penstock.time import Duration


class CheckpointConfig:
    """The checkpoint settings of a job. It reads and writes the configuration of the job.

    Every committed batch is a checkpoint. Settings that have no effect are stored and returned.

    >>> config = CheckpointConfig(Configuration())
    >>> config.is_checkpointing_enabled(), config.set_checkpoint_interval(5000).is_checkpointing_enabled()
    (False, True)
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def _get(self, option: Option) -> int:
        return int(self._configuration.get(option))

    def _set(self, option: Option, value: object) -> CheckpointConfig:
        self._configuration.set(option.key, value)
        return self

    def is_checkpointing_enabled(self) -> bool:
        """Returns whether an interval is set.

        A job always has checkpoints. If an interval is set, it is also restarted by default.
        """
        return self.get_checkpoint_interval() > 0

    def get_checkpoint_interval(self) -> int:
        """Returns the checkpoint interval in milliseconds, or -1 if it is not set."""
        return self._configuration.get(CHECKPOINT_INTERVAL) or -1

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Sets the checkpoint interval in milliseconds. It does not delay output, because every batch is a checkpoint."""
        return self._set(CHECKPOINT_INTERVAL, checkpoint_interval)

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Returns the configured mode. Jobs are exactly-once in both modes."""
        return CheckpointingMode[self._configuration.get(CHECKPOINTING_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Accepted for compatibility, has no effect. Jobs are exactly-once in both modes."""
        return self._set(CHECKPOINTING_MODE, checkpointing_mode)

    def get_checkpoint_timeout(self) -> int:
        """Returns the timeout of savepoints in milliseconds."""
        return self._get(CHECKPOINT_TIMEOUT)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Sets the timeout of savepoints in milliseconds. Batches have no timeout."""
        return self._set(CHECKPOINT_TIMEOUT, checkpoint_timeout)

    def get_min_pause_between_checkpoints(self) -> int:
        """Returns the minimum pause between two checkpoints in milliseconds."""
        return self._get(CHECKPOINT_PAUSE)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """Sets the minimum pause between two checkpoints in milliseconds. Elements wait meanwhile."""
        return self._set(CHECKPOINT_PAUSE, min_pause_between_checkpoints)

    def get_max_concurrent_checkpoints(self) -> int:
        """Returns the configured value, which has no effect."""
        return self._get(CHECKPOINTS_AT_ONCE)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Accepted for compatibility, has no effect. There is always one checkpoint at a time."""
        return self._set(CHECKPOINTS_AT_ONCE, max_concurrent_checkpoints)

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Returns whether the tolerable number of failed checkpoints is 0."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """Sets the tolerable number of failed checkpoints to 0 or to no limit."""
        return self.set_tolerable_checkpoint_failure_number(0 if fail_on_checkpointing_errors else 2**31 - 1)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Returns how many consecutive checkpoints may fail before the job fails."""
        return self._get(CHECKPOINT_FAILURES)

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        """Sets how many consecutive checkpoints may fail because of checkpoint storage before the job fails.

        If it is not set, the job waits for the storage without a limit.
        """
        return self._set(CHECKPOINT_FAILURES, tolerable_checkpoint_failure_number)

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Sets when the checkpoint folder is deleted. If it is not set, the folder is retained."""
        return self._set(CHECKPOINT_RETENTION, retention_mode)

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Returns whether a retention mode is set that retains the checkpoint in some case."""
        none = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return self.get_externalized_checkpoint_retention() is not none

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Returns the retention mode. As in Flink, it is NO_EXTERNALIZED_CHECKPOINTS if it is not set.

        The checkpoint folder is nevertheless retained if no mode is set.
        """
        name = self._configuration.get(CHECKPOINT_RETENTION)
        return ExternalizedCheckpointRetention[name or "NO_EXTERNALIZED_CHECKPOINTS"]

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Returns the configured value, which has no effect."""
        return bool(self._configuration.get(UNALIGNED))

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Accepted for compatibility, has no effect. There are no checkpoint barriers."""
        return self._set(UNALIGNED, enabled)

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Accepted for compatibility, has no effect. There are no checkpoint barriers."""
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Accepted for compatibility, has no effect."""
        return self._set(ALIGNMENT_TIMEOUT, alignment_timeout)

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Returns the configured value, which has no effect."""
        return Duration.of_millis(self._get(ALIGNMENT_TIMEOUT))

    set_alignment_timeout = set_aligned_checkpoint_timeout
    get_alignment_timeout = get_aligned_checkpoint_timeout

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        """Accepted for compatibility, has no effect."""
        return self._set(UNALIGNED_FORCED, force_unaligned_checkpoints)

    def is_force_unaligned_checkpoints(self) -> bool:
        """Returns the configured value, which has no effect."""
        return bool(self._configuration.get(UNALIGNED_FORCED))

    # -- from PyFlink 1.x

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Sets the checkpoint storage."""
        storage.write_to(self._configuration)
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Sets the folder for checkpoints."""
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Returns the checkpoint storage, or None if it is not set."""
        return configured_storage(self._configuration)
