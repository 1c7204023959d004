"""Runs three jobs for two hours and checks that what they use stays flat: `make soak`, `make soak ARGS="--minutes 20"`.

Every half minute it records for each job the memory, threads and open files of all its processes, and the number of files in its
checkpoint, local and run folders. The first third is warm-up. Afterwards, the trend over the rest of the run must be less than the
allowed growth.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.system.soak.jobs import JOBS

ALLOWED = {
    "memory MB": 0.15,
    "threads": 0.10,
    "open files": 0.10,
    "files": 0.20,
}  # growth as a share, from warm-up to end


@dataclass
class Job:
    """A job in its own processes and folders."""

    name: str
    folder: Path
    process: subprocess.Popen[bytes]
    samples: list[dict[str, float]]

    def sample(self) -> dict[str, float]:
        memory = threads = handles = 0.0
        driver = psutil.Process(self.process.pid)
        for process in (driver, *driver.children(recursive=True)):
            try:
                memory += process.memory_full_info().pss / 1e6
                threads += process.num_threads()
                handles += process.num_fds()
            except psutil.Error:  # it has just ended
                continue
        kept = (path for path in (self.folder / "state").rglob("*") if path.is_file())
        return {"memory MB": memory, "threads": threads, "open files": handles, "files": float(sum(1 for _ in kept))}

    def growth(self) -> dict[str, float]:
        """For each figure, the median of the last quarter relative to that of the quarter after warm-up."""
        rest = self.samples[len(self.samples) // 3 :]
        quarter = max(1, len(rest) // 4)
        return {
            name: statistics.median(s[name] for s in rest[-quarter:])
            / max(1.0, statistics.median(s[name] for s in rest[:quarter]))
            - 1
            for name in ALLOWED
        }


def start(name: str, root: Path, interval: int) -> Job:
    folder = root / name
    (folder / "state").mkdir(parents=True)
    (folder / "tmp").mkdir()
    options = {
        "spark.master": "local[1]",
        "spark.driver.memory": "700m",
        "parallelism.default": 1,
        "execution.checkpointing.dir": str(folder / "state" / "checkpoints"),
        "state.local.dir": str(folder / "state" / "local"),
        "execution.trigger.interval": interval,
    }
    environment = {
        **os.environ,
        "PENSTOCK_HOME": str(folder / "state" / "home"),
        "PENSTOCK_OPTIONS": json.dumps(options),
        "TMPDIR": str(folder / "tmp"),
    }
    log = open(folder / "log", "wb")  # noqa: SIM115 - the process keeps it open
    command = [sys.executable, "-m", "tests.system.soak.jobs", name, str(folder)]
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    return Job(name, folder, process, [])


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=120)
    arguments.add_argument("--sample-seconds", type=float, default=30)
    arguments.add_argument("--interval", type=int, default=2000, help="milliseconds between batches")
    options = arguments.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the jobs are ended
    root = Path(tempfile.mkdtemp(prefix="penstock-soak-"))
    jobs = [start(name, root, options.interval) for name in JOBS]
    end = time.monotonic() + options.minutes * 60
    try:
        while time.monotonic() < end:
            time.sleep(options.sample_seconds)
            for job in jobs:
                if job.process.poll() is not None:
                    print((job.folder / "log").read_text()[-3000:], file=sys.stderr)
                    print(json.dumps({"soak": job.name, "ended": job.process.returncode, "met": False}))
                    return 1
                job.samples.append(job.sample())
                shown = ", ".join(f"{name} {value:,.0f}" for name, value in job.samples[-1].items())
                print(f"{job.name}: {shown}", file=sys.stderr, flush=True)
    finally:
        for job in jobs:
            job.process.terminate()
        for job in jobs:
            job.process.wait(120)
    growth = {job.name: {name: round(value, 3) for name, value in job.growth().items()} for job in jobs}
    met = all(value <= ALLOWED[name] for figures in growth.values() for name, value in figures.items())
    last = {job.name: {name: round(value) for name, value in job.samples[-1].items()} for job in jobs}
    print(json.dumps({"soak": "three jobs", "minutes": options.minutes, "last": last, "growth": growth, "met": met}))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
