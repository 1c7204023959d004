"""A job whose state folder (registry, run folder, working copies, Spark's local files) is on a small disk that is filled.

Run as: python -m tests.system.losses.full_state_folder FOLDER, where mount namespaces are allowed. Prints RIGHT at the end.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tests.system.chaos.disk import SmallDisk, enter_namespace
from tests.system.faults.disturbed import DisturbedJob
from tests.waiting import until

NO_NAMESPACE = 3
FULL_SECONDS = 15.0


def main() -> int:
    if not enter_namespace():
        return NO_NAMESPACE
    root = Path(sys.argv[1])
    disk = SmallDisk(root / "disk", 128)
    os.environ["PENSTOCK_HOME"] = str(disk.folder / "home")
    options = {
        "jobs.registry.dir": str(disk.folder / "home"),
        "state.local.dir": str(disk.folder / "local"),
        "spark.class-archive": False,  # a JVM that writes the archive ends later
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 2,
        "restart-strategy.fixed-delay.delay": "1 s",
    }
    job = DisturbedJob(root, options, failing_store=False)
    try:
        job.start()
        job.wait_for_batches(3)
        disk.fill()
        deadline = time.monotonic() + FULL_SECONDS
        assert job.process is not None
        until(lambda: time.monotonic() > deadline or not job.process.running())  # type: ignore[union-attr]
        disk.free()
        job.process.process.wait(300)
        print(job.process.text())
        assert "Traceback" not in job.process.text()
        until(lambda: not job.process.members())  # type: ignore[union-attr]
        if not job.process.done():
            print("RESUMED")
            job.start(resume=True)
        job.check_result()
    finally:
        job.kill()
        disk.close()
    print("RIGHT")
    return 0


if __name__ == "__main__":
    sys.exit(main())
