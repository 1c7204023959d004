"""A job whose checkpoint is on a small file system that is filled, made read-only, and unmounted.

Run as: python -m tests.system.faults.real_disk FOLDER, where mount namespaces are allowed. Prints RIGHT at the end.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.system.chaos.disk import SmallDisk, enter_namespace
from tests.system.faults.disturbed import DisturbedJob

NO_NAMESPACE = 3


def mount(*arguments: str) -> None:
    """Mounts with retries, because a file system cannot become read-only while a file is open for writing."""
    deadline = time.monotonic() + 180
    while subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode:
        if time.monotonic() > deadline:
            raise SystemExit(f"mount {arguments} does not work")
        time.sleep(0.02)


def check_recovery(job: DisturbedJob, break_disk: Callable[[], None], repair_disk: Callable[[], None]) -> None:
    job.wait_for_batches(2)
    break_disk()
    try:
        message = job.wait_until(lambda: (entry := job.entry()) is not None and entry.waits)
        print(message, flush=True)
    finally:
        repair_disk()
    job.wait_for_batches(2)


def main() -> int:
    if not enter_namespace():
        return NO_NAMESPACE
    root = Path(sys.argv[1])
    disk = SmallDisk(root / "disk", 64)
    mounted, away = root / "checkpoints", root / "away"
    mounted.mkdir()
    away.mkdir()
    job = DisturbedJob(root, checkpoints=mounted)

    mount("--bind", str(disk.folder), str(mounted))
    try:
        job.start()
        check_recovery(job, disk.fill, disk.free)
        read_only, writable = ("-o", "remount,bind,ro", str(mounted)), ("-o", "remount,bind,rw", str(mounted))
        check_recovery(job, lambda: mount(*read_only), lambda: mount(*writable))
        check_recovery(
            job, lambda: mount("--move", str(mounted), str(away)), lambda: mount("--move", str(away), str(mounted))
        )
        job.check_result()
    finally:
        job.kill()
    print("RIGHT")
    return 0


if __name__ == "__main__":
    sys.exit(main())
