"""Rolling policies of the file sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from penstock.errors import ConfigError

_MEBIBYTE = 1 << 20


class PartFileInfo(Protocol):
    """A file that is being written. Times are in milliseconds since the epoch."""

    @property
    def bucket(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def created(self) -> int: ...
    @property
    def modified(self) -> int: ...


class RollingPolicy:
    """Decides when a file is complete and becomes visible. It is called after each batch and at the time that `due` returns.

    >>> RollingPolicy.default_rolling_policy(part_size=1000).part_size
    1000
    """

    part_size: int | None = None  # maximum size of a file in bytes, also within a batch

    def should_roll(self, part: PartFileInfo, now: int) -> bool:
        """Whether a file is complete now."""
        raise NotImplementedError

    def due(self, part: PartFileInfo) -> int | None:
        """Returns when to call `should_roll` even without new elements, in milliseconds since the epoch, or None."""
        return None

    @staticmethod
    def default_rolling_policy(
        part_size: int = 128 * _MEBIBYTE, rollover_interval: int = 60_000, inactivity_interval: int = 60_000
    ) -> DefaultRollingPolicy:
        """Returns a policy by size in bytes, age, and time since the last write (both in milliseconds)."""
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Returns a policy that completes files with each batch."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True)
class DefaultRollingPolicy(RollingPolicy):
    """Completes a file by its size, its age, or the time since the last write."""

    part_size: int = 128 * _MEBIBYTE
    rollover_interval: int = 60_000
    inactivity_interval: int = 60_000

    def __post_init__(self) -> None:
        for name in ("part_size", "rollover_interval", "inactivity_interval"):
            if getattr(self, name) <= 0:
                raise ConfigError("ROLLING_POLICY", f"{name} is {getattr(self, name)}; it must be greater than 0.")

    def should_roll(self, part: PartFileInfo, now: int) -> bool:
        return part.size >= self.part_size or now >= self.due(part)

    def due(self, part: PartFileInfo) -> int:
        return min(part.created + self.rollover_interval, part.modified + self.inactivity_interval)


class OnCheckpointRollingPolicy(RollingPolicy):
    """Completes a file with its batch."""

    def should_roll(self, part: PartFileInfo, now: int) -> bool:
        return True
