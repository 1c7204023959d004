"""When the file that a sink writes is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from penstock.errors import ConfigError

_MEBIBYTE = 1 << 20


class PartFileInfo(Protocol):
    """What is known of a file that is being written; times in milliseconds since 1970."""

    @property
    def bucket(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def created(self) -> int: ...
    @property
    def modified(self) -> int: ...


class RollingPolicy:
    """When a file is full, and readers may see it. It is asked after each batch, and at the time it names itself.

    >>> RollingPolicy.default_rolling_policy(part_size=1000).part_size
    1000
    """

    part_size: int | None = None  # a file is not written on beyond this size, also within a batch

    def should_roll(self, part: PartFileInfo, now: int) -> bool:
        """Whether a file that was written on in the last batch, or before, is full now."""
        raise NotImplementedError

    def due(self, part: PartFileInfo) -> int | None:
        """When to ask again if no element comes."""
        return None

    @staticmethod
    def default_rolling_policy(
        part_size: int = 128 * _MEBIBYTE, rollover_interval: int = 60_000, inactivity_interval: int = 60_000
    ) -> DefaultRollingPolicy:
        """By size, by age, and by the time since it was last written to (both in milliseconds)."""
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Files for each batch: visible as soon as it is committed."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True)
class DefaultRollingPolicy(RollingPolicy):
    """Ends a file by its size, its age, or when nothing was written to it for a while."""

    part_size: int = 128 * _MEBIBYTE
    rollover_interval: int = 60_000
    inactivity_interval: int = 60_000

    def __post_init__(self) -> None:
        for name in ("part_size", "rollover_interval", "inactivity_interval"):
            if getattr(self, name) <= 0:
                raise ConfigError("ROLLING_POLICY", f"{name} is {getattr(self, name)}; it must be more than 0.")

    def should_roll(self, part: PartFileInfo, now: int) -> bool:
        return part.size >= self.part_size or now >= self.due(part)

    def due(self, part: PartFileInfo) -> int:
        return min(part.created + self.rollover_interval, part.modified + self.inactivity_interval)


class OnCheckpointRollingPolicy(RollingPolicy):
    """Ends a file with its batch."""

    def should_roll(self, part: PartFileInfo, now: int) -> bool:
        return True
