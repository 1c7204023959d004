"""The launch of a job in its checkpoint folder, so that it can be resumed without the registry and on another machine."""

from __future__ import annotations

from pathlib import Path

import msgspec

from penstock.atomic_file import write_atomic
from penstock.jobs.registry.launch import Launch


class StoredLaunch(msgspec.Struct, frozen=True):
    """What `penstock/launch.json` of a checkpoint contains."""

    job_id: str
    name: str
    launch: Launch


def write_launch(checkpoint: str, stored: StoredLaunch) -> None:
    """Stores the launch of the last run in a checkpoint folder."""
    data = msgspec.json.format(msgspec.json.encode(stored), indent=1)
    write_atomic(_file(checkpoint), data, durable=False)


def read_launch(checkpoint: str) -> StoredLaunch | None:
    """The launch in a checkpoint folder; None if there is none, or if it cannot be read."""
    try:
        return msgspec.json.decode(_file(checkpoint).read_bytes(), type=StoredLaunch)
    except (OSError, msgspec.DecodeError):
        return None


def _file(checkpoint: str) -> Path:
    return Path(checkpoint, "penstock", "launch.json")
