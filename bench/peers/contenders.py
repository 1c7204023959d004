"""Runs a contender's script in a process of its own, in its own environment, and takes what it says at its end."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments import python_of

from penstock.servers.jars import jars_of

HERE = Path(__file__).parent
_LONGEST = 900  # seconds after which a contender is given up


@dataclass(frozen=True, slots=True)
class Contender:
    """A system, the script that runs the jobs on it, and the jars that it needs."""

    name: str
    script: str
    peer: str = ""  # whose environment; without one, ours
    jars: str = ""
    mode: str = ""
    in_batches: bool = False  # and says how long each took
    note: str = ""


RAW = Contender(
    "raw read by Spark", "spark_job.py", jars="spark-kafka", mode="raw", in_batches=True, note="no work; the limit"
)
PENSTOCK = Contender(
    "Penstock",
    "penstock_job.py",
    in_batches=True,
    note="exactly-once state, a checkpoint per batch",
)
PEERS_Y = (
    Contender(
        "plain PySpark",
        "spark_job.py",
        jars="spark-kafka",
        in_batches=True,
        note="native window; a checkpoint per batch",
    ),
    Contender(
        "Flink SQL",
        "flink_job.py",
        peer="flink",
        jars="flink-kafka",
        note="no checkpoints; results once, at the end of windows",
    ),
    Contender(
        "PyFlink",
        "flink_job.py",
        peer="flink",
        jars="flink-kafka",
        mode="python",
        note="thread mode, heap state, no checkpoints; the first 400,000 events",
    ),
    Contender("Bytewax", "bytewax_job.py", peer="bytewax", note="no recovery; results once"),
    Contender("Pathway", "pathway_job.py", peer="pathway", note="no persistence; bounded mode; results once"),
    Contender("Quix Streams", "quix_job.py", peer="quix", note="RocksDB with changelog; results once"),
)
PEERS_P = (
    Contender("plain PySpark", "spark_job.py", jars="spark-kafka", in_batches=True, note="transformWithState"),
    Contender(
        "PyFlink",
        "flink_job.py",
        peer="flink",
        jars="flink-kafka",
        note="thread mode, heap state, checkpoint every 10 s",
    ),
    *(peer for peer in PEERS_Y if peer.peer in ("bytewax", "quix")),
    Contender(
        "Pathway",
        "pathway_job.py",
        peer="pathway",
        note="one output per user and commit, not per event",
    ),
)


@dataclass(frozen=True, slots=True)
class Input:
    """The topic that all contenders read, and where results may go."""

    bootstrap: str
    topic: str
    events: int
    redis: str


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run of a contender came to."""

    events: int
    seconds: float  # of the job, without the start of interpreters and clusters
    whole: float  # of the process
    told: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Measured:
    """A run over many events; of a contender that does not tell its batches, one over a few before it."""

    many: Ran
    few: Ran | None

    @property
    def steady(self) -> float:
        """Events per second once the job runs: without the first batch, or what many events take longer than a few."""
        if self.few is not None:
            return (self.many.events - self.few.events) / (self.many.seconds - self.few.seconds)
        batches = self.many.told["batches"][1:]
        return 1000 * sum(events for events, _ in batches) / sum(millis for _, millis in batches)

    @property
    def bounded(self) -> float:
        """Events per second of the whole job, from its start to its end."""
        return self.many.events / self.many.seconds

    @property
    def whole(self) -> float:
        """The same with the start of the process, its interpreters and its cluster."""
        return self.many.events / self.many.whole


HEAD = ("contender", "events/s", "whole job", "whole process", "each run", "how")


def table_row(contender: Contender, runs: list[Measured]) -> tuple[str, ...]:
    """What a table says of a contender: medians, and the runs behind the first of them."""
    medians = [statistics.median(getattr(r, kind) for r in runs) for kind in ("steady", "bounded", "whole")]
    each = ", ".join(f"{r.steady:,.0f}" for r in runs)
    return contender.name, *(f"{rate:,.0f}" for rate in medians), each, contender.note


def measured(contender: Contender, job: str, few: Input, many: Input, time_box: float) -> Measured:
    """One measurement of a contender."""
    before = None if contender.in_batches else run(contender, job, few, time_box)
    return Measured(run(contender, job, many, time_box), before)


def run(contender: Contender, job: str, given: Input, time_box: float) -> Ran:
    """One run. Everything that it leaves behind is in a folder that is removed."""
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    command = [python_of(contender.peer), str(HERE / contender.script), job]
    command += ["--bootstrap", given.bootstrap, "--topic", given.topic, "--events", str(given.events)]
    command += [
        "--scratch",
        str(scratch),
        "--redis",
        given.redis,
        "--time-box",
        str(time_box),
        "--mode",
        contender.mode,
    ]
    if contender.jars:
        command += ["--jars", ",".join(map(str, jars_of(contender.jars).files))]
    log = scratch / "contender.log"
    began = time.time()
    try:
        with log.open("wb") as errors:
            child = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, cwd=scratch, env=_environment(), start_new_session=True
            )
            try:
                output, _ = child.communicate(timeout=_LONGEST)
            except BaseException:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                raise
        whole = time.time() - began
        lines = output.decode().strip().splitlines()
        if child.returncode != 0 or not lines or not lines[-1].startswith("{"):
            told = log.read_text(errors="replace")[-3000:]
            raise RuntimeError(f"{contender.name}, job {job}, ended with {child.returncode}:\n{told}\n{lines[-5:]}")
        told = json.loads(lines[-1])
        return Ran(told.pop("events"), told.pop("seconds"), whole, told)
    finally:
        _end_group(child.pid)
        shutil.rmtree(scratch, ignore_errors=True)


def _end_group(group: int) -> None:
    """Some peers leave processes of their own behind: those of the contender's session, and no others."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _environment() -> dict[str, str]:
    """Ours, without what belongs to our own Python."""
    kept = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONHOME")}
    return kept | {"PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore"}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def asked(description: str | None) -> argparse.Namespace:
    """The options of a benchmark beside peers."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--events", type=int, default=5_000_000)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--time-box", type=float, default=60, help="seconds for contenders that stop early")
    arguments.add_argument("--only", default="", help="names of contenders, with commas; nothing is kept")
    return arguments.parse_args()


def chosen(contenders: tuple[Contender, ...], options: argparse.Namespace) -> list[Contender]:
    """Those that run."""
    return [c for c in contenders if not options.only or c.name in options.only.split(",")]
