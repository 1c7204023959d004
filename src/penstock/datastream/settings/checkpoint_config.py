"""How a job's checkpoints are made. Every committed batch is one, so most of Flink's settings have nothing left to decide."""

from __future__ import annotations

from penstock.config import (
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
    Configuration,
    Option,
)
from penstock.datastream.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    storage_in,
)
from penstock.datastream.modes import CheckpointingMode, ExternalizedCheckpointRetention
from penstock.time import Duration


class CheckpointConfig:
    """A view of a job's configuration. What says "kept" is given back and changes nothing: each batch is a checkpoint.

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
        """Whether an interval is set. The job is checkpointed in any case; with an interval it is also restarted by default."""
        return self.get_checkpoint_interval() > 0

    def get_checkpoint_interval(self) -> int:
        """Milliseconds; -1: not set."""
        return self._configuration.get(CHECKPOINT_INTERVAL) or -1

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Milliseconds. Output never waits for it."""
        return self._set(CHECKPOINT_INTERVAL, checkpoint_interval)

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """What was set; jobs run exactly once in any case."""
        return CheckpointingMode[self._configuration.get(CHECKPOINTING_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Kept: jobs run exactly once in either mode."""
        return self._set(CHECKPOINTING_MODE, checkpointing_mode)

    def get_checkpoint_timeout(self) -> int:
        """What was set, in milliseconds; it changes nothing."""
        return self._get(CHECKPOINT_TIMEOUT)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Kept, milliseconds."""
        return self._set(CHECKPOINT_TIMEOUT, checkpoint_timeout)

    def get_min_pause_between_checkpoints(self) -> int:
        """What was set, in milliseconds; it changes nothing."""
        return self._get(CHECKPOINT_PAUSE)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """Kept, milliseconds."""
        return self._set(CHECKPOINT_PAUSE, min_pause_between_checkpoints)

    def get_max_concurrent_checkpoints(self) -> int:
        """What was set; it changes nothing."""
        return self._get(CHECKPOINTS_AT_ONCE)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Kept."""
        return self._set(CHECKPOINTS_AT_ONCE, max_concurrent_checkpoints)

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Whether no failed checkpoint is tolerated, by what was set."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """Kept: a batch whose checkpoint cannot be written has failed."""
        return self.set_tolerable_checkpoint_failure_number(0 if fail_on_checkpointing_errors else 2**31 - 1)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """What was set; it changes nothing."""
        return self._get(CHECKPOINT_FAILURES)

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        """Kept: a batch whose checkpoint cannot be written has failed."""
        return self._set(CHECKPOINT_FAILURES, tolerable_checkpoint_failure_number)

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Says when the job's checkpoint folder is removed. When nothing is set it stays."""
        return self._set(CHECKPOINT_RETENTION, retention_mode)

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether it was set that the checkpoint stays in some case when the job ends."""
        return self.get_externalized_checkpoint_retention() not in (
            None,
            ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS,
        )

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention | None:
        """None: not set."""
        name = self._configuration.get(CHECKPOINT_RETENTION)
        return None if name is None else ExternalizedCheckpointRetention[name]

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """What was set; it changes nothing."""
        return bool(self._configuration.get(UNALIGNED))

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Kept: there are no barriers to align."""
        return self._set(UNALIGNED, enabled)

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Kept, and changes nothing: there are no barriers."""
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Kept."""
        return self._set(ALIGNMENT_TIMEOUT, alignment_timeout)

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """What was set; it changes nothing."""
        return Duration.of_millis(self._get(ALIGNMENT_TIMEOUT))

    set_alignment_timeout = set_aligned_checkpoint_timeout
    get_alignment_timeout = get_aligned_checkpoint_timeout

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        """Kept."""
        return self._set(UNALIGNED_FORCED, force_unaligned_checkpoints)

    def is_force_unaligned_checkpoints(self) -> bool:
        """What was set; it changes nothing."""
        return bool(self._configuration.get(UNALIGNED_FORCED))

    # -- of PyFlink before version 2

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Where checkpoints are kept."""
        storage.write_to(self._configuration)
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """The folder that the job's checkpoint is made in."""
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """What was set; None: nothing was."""
        return storage_in(self._configuration)
