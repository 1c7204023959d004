"""A job from Kafka to Kafka and files while everything around it breaks: every sink must end with exactly the right rows.

Run as: python -m tests.chaos.run [--events N] [--faults N] [--seed N]. Faults come at random moments, spread over the job: the
driver and its JVM are killed, or the JVM alone, so that Python workers outlive it; workers are killed; the broker is killed or
stopped, and started again; the disk with checkpoint and files fills up. Ends with one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.disk import SmallDisk, enter_namespace
from tests.chaos.events import PARTITIONS, event, expected, message, partition
from tests.servers import Kafka
from tests.spark.processes import JobProcess, checkpoint_in

JOB = Path(__file__).parent / "job.py"
WEIGHTS = {"worker": 5, "driver": 3, "jvm": 2, "broker killed": 2, "broker restarted": 1, "disk full": 2}
PATIENCE = 180.0  # seconds without a batch before the job counts as stuck


@dataclass
class World:
    """All that runs, and what was done to it."""

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
        told = self.root / "settings.json"
        told.write_text(json.dumps(self.settings))
        self.job = JobProcess(JOB, str(told), str(self.root / "logs"))
        return self.job

    def batches(self) -> int:
        """How many batches are committed."""
        logs = self.checkpoints.glob("*/spark/commits/*")
        return max((int(file.name) + 1 for file in logs if file.name.isdecimal()), default=0)

    # -- faults

    def harm(self, kind: str) -> bool:
        """Does something bad; False when it could not be done now."""
        job = self.job
        assert job is not None
        if kind == "worker":
            return job.kill_worker(self.rng)
        if kind == "driver":
            job.kill_driver()
        elif kind == "jvm":
            return job.kill_jvm()
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
    """The events, each user's in one partition."""
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
    assert left == 0, f"{left} events were not taken"


def at_random(rng: random.Random) -> str:
    """One kind of fault."""
    return rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]


def disturb(world: World, faults: int, batches: int, choose: Callable[[random.Random], str]) -> None:
    """Runs the job to its end, with so many faults spread over its batches."""
    job, last, moved = world.start_job(), -1, time.monotonic()
    while not job.done():
        if not job.running():
            if job.done():
                break
            job = world.start_job()
        now = world.batches()
        if now != last:
            last, moved = now, time.monotonic()
        if time.monotonic() - moved > PATIENCE:
            raise SystemExit(f"the job is stuck after batch {last}:\n{job.text()[-3000:]}")
        made = world.done.total()
        if made < faults and now > made * batches // (faults + 1):
            time.sleep(world.rng.uniform(0.0, 1.0))
            kind = choose(world.rng)
            if job.running() and world.harm(kind):
                world.done[kind] += 1
                print(f"fault {world.done.total()}/{faults} after batch {now}: {kind}", file=sys.stderr, flush=True)
                moved = time.monotonic()
        time.sleep(0.05)
    job.process.wait(120)


def compare(world: World, events: int) -> dict[str, tuple[int, int, int]]:
    """For each sink: rows, rows that are missing, rows that are too many."""
    running, windows = expected(events)
    lines = Path(world.settings["files"]).glob("part-*.jsonl")
    found = {
        "kafka running": (running, _texts(world.kafka, world.settings["running"])),
        "kafka windows": (windows, _texts(world.kafka, world.settings["windows"])),
        "files windows": (
            windows,
            Counter(json.loads(line) for file in lines for line in file.read_text().splitlines()),
        ),
    }
    return {name: (is_.total(), (want - is_).total(), (is_ - want).total()) for name, (want, is_) in found.items()}


def _texts(kafka: Kafka, topic: str) -> Counter[str]:
    return Counter(value.decode() for value in kafka.values(topic) if value is not None)


def chaos(
    events: int,
    faults: int,
    seed: int,
    small_disk: bool,
    per_batch: int,
    choose: Callable[[random.Random], str] = at_random,
) -> dict[str, Any]:
    """One run; what came out."""
    began = time.monotonic()
    root = Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
    disk = SmallDisk(root / "disk", 600) if small_disk else None
    kafka = Kafka()
    world = World(root, kafka, disk, {}, random.Random(seed))
    try:
        lasting = root if disk is None else disk.folder
        forever = {"retention.ms": "-1"}  # the rows' timestamps are those of the events, and far back
        names = {n: kafka.create_topic(partitions=PARTITIONS, config=forever) for n in ("events", "running", "windows")}
        folders = {
            "checkpoints": str(lasting / "checkpoints"),
            "files": str(lasting / "files"),
            "local": str(root / "local"),
        }
        world.settings = {**names, **folders, "bootstrap": kafka.bootstrap, "per_batch": per_batch}
        world.checkpoints.mkdir()
        produce(kafka, names["events"], events)
        disturb(world, faults, -(-events // per_batch), choose)
        sinks = compare(world, events)
    finally:
        if world.job is not None:
            world.job.kill_driver()
        kafka.stop()
        if disk is not None:
            disk.close()
        shutil.rmtree(kafka.folder, ignore_errors=True)
    right = all(not missing and not surplus for _, missing, surplus in sinks.values()) and world.done.total() >= faults
    if right:
        shutil.rmtree(root, ignore_errors=True)
    return {
        "chaos": "kafka to kafka and files",
        "seed": seed,
        "events": events,
        "faults": world.done.total(),
        "kinds": dict(world.done),
        "small_disk": small_disk,
        "starts": world.starts,
        "batches": world.batches() if not right else None,
        "sinks": {n: {"rows": r, "missing": m, "surplus": s} for n, (r, m, s) in sinks.items()},
        "seconds": round(time.monotonic() - began, 1),
        "right": right,
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
        print("no small disk can be mounted here: the disk will not fill up", file=sys.stderr, flush=True)
    line = chaos(options.events, options.faults, seed, small_disk, options.per_batch)
    print(json.dumps(line))
    return 0 if line["right"] else 1


if __name__ == "__main__":
    sys.exit(main())
