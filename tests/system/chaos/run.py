"""Runs a job from Kafka to Kafka and files while faults are injected. Every sink must contain exactly the expected rows.

Run as: python -m tests.system.chaos.run [--events N] [--faults N] [--seed N]. Faults are injected at random times: the driver and
its JVM are killed, or only the JVM; workers are killed; the broker is killed or stopped, and restarted; the disk with the
checkpoint and the files is filled. All jobs use one state folder, and other jobs start in between, with the files that killed
ones left there. Prints one line of JSON at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.locations import ROOT
from tests.servers import Kafka
from tests.system.chaos.disk import SmallDisk, enter_namespace
from tests.system.chaos.events import PARTITIONS, event, expected, message, partition
from tests.system.spark.processes import JobProcess, checkpoint_in

JOB = Path(__file__).parent / "job.py"
OTHER_JOB = Path(__file__).parent.parent / "leftovers" / "job.py"
WEIGHTS = {
    "worker": 5,
    "driver": 3,
    "jvm": 2,
    "broker killed": 2,
    "broker restarted": 1,
    "disk full": 2,
    "other job": 2,
}
STUCK_AFTER = 180.0  # seconds without a batch before the job counts as stuck


@dataclass
class ChaosTest:
    """The job, the broker and the disk, with the injected faults."""

    root: Path
    kafka: Kafka
    disk: SmallDisk | None
    settings: dict[str, Any]
    rng: random.Random
    job: JobProcess | None = None
    done: Counter[str] = field(default_factory=Counter)
    starts: int = 0

    @property
    def checkpoints(self) -> Path:
        return Path(self.settings["checkpoints"])

    def start_job(self) -> JobProcess:
        self.starts += 1
        found = list(self.checkpoints.glob("*/penstock/job.json"))
        self.settings["resume"] = checkpoint_in(self.checkpoints) if found else ""
        settings_file = self.root / "settings.json"
        settings_file.write_text(json.dumps(self.settings))
        self.job = JobProcess(JOB, str(settings_file), str(self.root / "logs"), environment=self.environment())
        return self.job

    def environment(self) -> dict[str, str]:
        """All jobs use one state folder, as those of one user do."""
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        return {**os.environ, "PENSTOCK_HOME": str(self.root / "home"), "PYTHONPATH": path}

    def run_other_job(self) -> None:
        """Runs another job to its end, beside the files that killed jobs have left."""
        command = [sys.executable, str(OTHER_JOB)]
        ended = subprocess.run(
            command, env=self.environment(), capture_output=True, text=True, timeout=600, check=False
        )
        if ended.returncode:
            raise SystemExit(f"another job failed after {dict(self.done)}:\n{ended.stderr[-3000:]}")

    def batches(self) -> int:
        """The number of committed batches."""
        logs = self.checkpoints.glob("*/spark/commits/*")
        return max((int(file.name) + 1 for file in logs if file.name.isdecimal()), default=0)

    # -- faults

    def inject_fault(self, kind: str) -> bool:
        """Injects a fault. Returns False if it is not possible now."""
        job = self.job
        assert job is not None
        if kind == "worker":
            return job.kill_worker(self.rng)
        if kind == "driver":
            job.kill_driver()
        elif kind == "jvm":
            return job.kill_jvm()
        elif kind == "other job":
            self.run_other_job()
        elif kind == "disk full":
            if self.disk is None:
                return False
            self.disk.fill()
            time.sleep(self.rng.uniform(1.0, 4.0))
            self.disk.free()
        else:
            (self.kafka.kill if kind == "broker killed" else self.kafka.stop)()
            time.sleep(self.rng.uniform(0.0, 3.0))
            self.kafka.start()
        return True


def produce(kafka: Kafka, topic: str, events: int) -> None:
    """Writes the events. All events of a user go to the same partition."""
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": kafka.bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 500_000}
    producer = Producer({**settings, "enable.idempotence": True, "log_level": 0})
    for number in range(events):
        user, amount, at = event(number)
        while True:
            try:
                producer.produce(topic, message(user, amount, at), partition=partition(user))
                break
            except BufferError:
                producer.poll(0.05)
    left = producer.flush(120)
    assert left == 0, f"{left} events were not acknowledged"


def random_fault(rng: random.Random) -> str:
    """A random kind of fault."""
    return rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]


def run_with_faults(test: ChaosTest, faults: int, batches: int, choose: Callable[[random.Random], str]) -> None:
    """Runs the job to its end and injects the faults, spread over its batches."""
    job, last, last_progress = test.start_job(), -1, time.monotonic()
    while not job.done():
        if not job.running():
            if job.done():
                break
            job = test.start_job()
        now = test.batches()
        if now != last:
            last, last_progress = now, time.monotonic()
        if time.monotonic() - last_progress > STUCK_AFTER:
            raise SystemExit(f"the job is stuck after batch {last}:\n{job.text()[-3000:]}")
        injected = test.done.total()
        if injected < faults and now > injected * batches // (faults + 1):
            time.sleep(test.rng.uniform(0.0, 1.0))
            kind = choose(test.rng)
            if job.running() and test.inject_fault(kind):
                test.done[kind] += 1
                print(f"fault {test.done.total()}/{faults} after batch {now}: {kind}", file=sys.stderr, flush=True)
                last_progress = time.monotonic()
        time.sleep(0.05)
    job.process.wait(120)


def compare(test: ChaosTest, events: int) -> dict[str, tuple[int, int, int]]:
    """For each sink: the number of rows, of missing rows, and of surplus rows."""
    running, windows = expected(events)
    lines = Path(test.settings["files"]).glob("part-*.jsonl")
    found = {
        "kafka running": (running, _texts(test.kafka, test.settings["running"])),
        "kafka windows": (windows, _texts(test.kafka, test.settings["windows"])),
        "files windows": (
            windows,
            Counter(json.loads(line) for file in lines for line in file.read_text().splitlines()),
        ),
    }
    return {
        name: (actual.total(), (expected_rows - actual).total(), (actual - expected_rows).total())
        for name, (expected_rows, actual) in found.items()
    }


def _texts(kafka: Kafka, topic: str) -> Counter[str]:
    return Counter(value.decode() for value in kafka.values(topic) if value is not None)


def run_chaos(
    events: int,
    faults: int,
    seed: int,
    small_disk: bool,
    per_batch: int,
    choose: Callable[[random.Random], str] = random_fault,
) -> dict[str, Any]:
    """Runs the test. Returns its result."""
    began = time.monotonic()
    root = Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
    disk = SmallDisk(root / "disk", 600) if small_disk else None
    kafka = Kafka()
    test = ChaosTest(root, kafka, disk, {}, random.Random(seed))
    try:
        disk_folder = root if disk is None else disk.folder
        names = {n: kafka.create_topic(partitions=PARTITIONS) for n in ("events", "running", "windows")}
        folders = {
            "checkpoints": str(disk_folder / "checkpoints"),
            "files": str(disk_folder / "files"),
        }
        test.settings = {**names, **folders, "bootstrap": kafka.bootstrap, "per_batch": per_batch}
        test.checkpoints.mkdir()
        produce(kafka, names["events"], events)
        run_with_faults(test, faults, -(-events // per_batch), choose)
        sinks = compare(test, events)
    finally:
        if test.job is not None:
            test.job.kill_driver()
        kafka.stop()
        if disk is not None:
            disk.close()
        shutil.rmtree(kafka.folder, ignore_errors=True)
    correct = all(not missing and not surplus for _, missing, surplus in sinks.values()) and test.done.total() >= faults
    if correct:
        shutil.rmtree(root, ignore_errors=True)
    return {
        "chaos": "kafka to kafka and files",
        "seed": seed,
        "events": events,
        "faults": test.done.total(),
        "kinds": dict(test.done),
        "small_disk": small_disk,
        "starts": test.starts,
        "batches": test.batches() if not correct else None,
        "sinks": {n: {"rows": r, "missing": m, "surplus": s} for n, (r, m, s) in sinks.items()},
        "seconds": round(time.monotonic() - began, 1),
        "correct": correct,
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=5_000_000)
    arguments.add_argument("--faults", type=int, default=40)
    arguments.add_argument("--seed", type=int, default=None)
    arguments.add_argument("--per-batch", type=int, default=50_000)
    options = arguments.parse_args()
    small_disk = enter_namespace()
    seed = random.randrange(1 << 30) if options.seed is None else options.seed
    print(f"seed {seed}", file=sys.stderr, flush=True)
    if not small_disk:
        print("a small disk cannot be mounted here, so the disk will not be filled", file=sys.stderr, flush=True)
    line = run_chaos(options.events, options.faults, seed, small_disk, options.per_batch)
    print(json.dumps(line))
    return 0 if line["correct"] else 1


if __name__ == "__main__":
    sys.exit(main())
