"""A job whose checkpoint is on a small file system of its own, which is filled, made read-only and taken away.

Run as: python -m tests.faults.real_disk FOLDER, where namespaces of mounts can be made. Prints RIGHT at its end.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.chaos.disk import SmallDisk, enter_namespace
from tests.faults.disturbed import DisturbedJob

NO_NAMESPACE = 3


def mount(*arguments: str) -> None:
    """Tries again for a while: a file system cannot become read-only while a file is open for writing."""
    deadline = time.monotonic() + 20
    while subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode:
        if time.monotonic() > deadline:
            raise SystemExit(f"mount {arguments} does not work")
        time.sleep(0.02)


def outlasts(job: DisturbedJob, harm: Callable[[], None], mend: Callable[[], None]) -> None:
    job.wait_for_batches(2)
    harm()
    try:
        words = job.wait_until(lambda: (entry := job.entry()) is not None and entry.waits, 60)
        print(words, flush=True)
    finally:
        mend()
    job.wait_for_batches(2)


def main() -> int:
    if not enter_namespace():
        return NO_NAMESPACE
    root = Path(sys.argv[1])
    disk = SmallDisk(root / "disk", 64)
    seen, away = root / "checkpoints", root / "away"
    seen.mkdir()
    away.mkdir()
    job = DisturbedJob(root, checkpoints=seen)

    mount("--bind", str(disk.folder), str(seen))
    try:
        job.start()
        outlasts(job, disk.fill, disk.free)
        read_only, writable = ("-o", "remount,bind,ro", str(seen)), ("-o", "remount,bind,rw", str(seen))
        outlasts(job, lambda: mount(*read_only), lambda: mount(*writable))
        outlasts(job, lambda: mount("--move", str(seen), str(away)), lambda: mount("--move", str(away), str(seen)))
        job.ends_right()
    finally:
        job.kill()
    print("RIGHT")
    return 0


if __name__ == "__main__":
    sys.exit(main())
