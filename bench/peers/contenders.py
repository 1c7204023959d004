"""Runs the script of a contender in a separate process and environment, and reads the report that it prints at its end."""

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

from penstock.devservers.jars import get_jars

HERE = Path(__file__).parent
_TIMEOUT = 900  # seconds after which a contender is killed


@dataclass(frozen=True, slots=True)
class Contender:
    """A system, the script that runs the jobs on it, and the jars that it needs."""

    name: str
    script: str
    peer: str = ""  # the name of its environment; if empty, the environment of the benchmark is used
    jars: str = ""
    mode: str = ""
    in_batches: bool = False  # whether it processes batches and reports their durations
    note: str = ""


RAW = Contender(
    "raw read by Spark",
    "spark_job.py",
    jars="spark-kafka",
    mode="raw",
    in_batches=True,
    note="read only, the upper limit",
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
    """The topic that all contenders read, and the Redis server for results."""

    bootstrap: str
    topic: str
    events: int
    redis: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of one run of a contender."""

    events: int
    seconds: float  # of the job, without the start of interpreters and clusters
    whole: float  # seconds of the process
    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A run over many events, and a run over few events if the contender does not report batches."""

    many: RunResult
    few: RunResult | None

    @property
    def steady(self) -> float:
        """Events per second of the running job: without the first batch, or computed from the difference of both runs."""
        if self.few is not None:
            return (self.many.events - self.few.events) / (self.many.seconds - self.few.seconds)
        batches = self.many.report["batches"][1:]
        return 1000 * sum(events for events, _ in batches) / sum(millis for _, millis in batches)

    @property
    def bounded(self) -> float:
        """Events per second of the whole job, from its start to its end."""
        return self.many.events / self.many.seconds

    @property
    def whole(self) -> float:
        """Events per second of the whole process, including the start of interpreters and clusters."""
        return self.many.events / self.many.whole


HEAD = ("contender", "events/s", "whole job", "whole process", "each run", "configuration")


def table_row(contender: Contender, runs: list[Measurement]) -> tuple[str, ...]:
    """Returns the table row of a contender: the medians, and the steady rate of each run."""
    medians = [statistics.median(getattr(r, kind) for r in runs) for kind in ("steady", "bounded", "whole")]
    each = ", ".join(f"{r.steady:,.0f}" for r in runs)
    return contender.name, *(f"{rate:,.0f}" for rate in medians), each, contender.note


def measure_contender(contender: Contender, job: str, few: Input, many: Input, time_box: float) -> Measurement:
    """Measures a contender once."""
    short_run = None if contender.in_batches else run(contender, job, few, time_box)
    return Measurement(run(contender, job, many, time_box), short_run)


def run(contender: Contender, job: str, source: Input, time_box: float) -> RunResult:
    """Runs a contender once. All its files are in a folder that is removed."""
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    command = [python_of(contender.peer), str(HERE / contender.script), job]
    command += ["--bootstrap", source.bootstrap, "--topic", source.topic, "--events", str(source.events)]
    command += [
        "--scratch",
        str(scratch),
        "--redis",
        source.redis,
        "--time-box",
        str(time_box),
        "--mode",
        contender.mode,
    ]
    if contender.jars:
        command += ["--jars", ",".join(map(str, get_jars(contender.jars).files))]
    log_file = scratch / "contender.log"
    began = time.time()
    try:
        with log_file.open("wb") as errors:
            child = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, cwd=scratch, env=_environment(), start_new_session=True
            )
            try:
                output, _ = child.communicate(timeout=_TIMEOUT)
            except BaseException:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                raise
        whole = time.time() - began
        lines = output.decode().strip().splitlines()
        if child.returncode != 0 or not lines or not lines[-1].startswith("{"):
            end_of_log = log_file.read_text(errors="replace")[-3000:]
            raise RuntimeError(
                f"{contender.name}, job {job}, ended with exit code {child.returncode}:\n{end_of_log}\n{lines[-5:]}"
            )
        report = json.loads(lines[-1])
        return RunResult(report.pop("events"), report.pop("seconds"), whole, report)
    finally:
        _kill_group(child.pid)
        shutil.rmtree(scratch, ignore_errors=True)


def _kill_group(group: int) -> None:
    """Kills all processes of the session of a contender, because some systems do not stop all of them."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _environment() -> dict[str, str]:
    """Returns the environment variables of this process without those of its Python environment."""
    variables = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONHOME")}
    return variables | {"PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore"}


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parse_options(description: str | None) -> argparse.Namespace:
    """Parses the command line of a benchmark with several systems."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--events", type=int, default=5_000_000)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--time-box", type=float, default=60, help="seconds for contenders that stop early")
    arguments.add_argument(
        "--only", default="", help="names of contenders, separated by commas; no results are written"
    )
    return arguments.parse_args()


def select(contenders: tuple[Contender, ...], options: argparse.Namespace) -> list[Contender]:
    """Returns the contenders selected by `--only`."""
    return [c for c in contenders if not options.only or c.name in options.only.split(",")]
