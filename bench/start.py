"""Seconds to the first result: a job of three records in a new process, beside a plain PySpark program that counts three rows.

The two programs run alternately, so that a busy machine slows both down; the ratios are the result. Processor time is that of
all processes of a program. A second program measures the phases of a start, a second job in the same session, and the memory and
the processes that a job needs beside the JVM. An earlier version is measured too if its folder `src` is passed with --before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import measure

ROOT = Path(__file__).parent.parent
PLAIN = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").getOrCreate()
print(spark.createDataFrame([("ann", 5), ("bob", 7), ("ann", 3)], ["name", "amount"]).count())
spark.stop()
"""
# Prints a line of JSON for each phase. The memory is measured while a job waits in its function.
PHASES = """
import json, os, sys, time
def mark(name): print(json.dumps({"phase": name, "time": time.time()}), flush=True)
mark("interpreter")
import penstock as ps
from penstock.spark.engine import SparkEngine
mark("imports")
from penstock.spark.session.session import get_session
get_session(ps.Configuration())
mark("JVM and session")
class Total(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))
    def process_element(self, order, ctx):
        self.total.update((self.total.value() or 0) + order[1])
        yield order[0], self.total.value()
def run(name):
    env = ps.StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([("ann", 5), ("bob", 7), ("ann", 3)]).key_by(lambda o: o[0]).process(Total())
    results = iter(stream.execute_and_collect(name))
    next(results)
    mark(f"{name}: first result")
    list(results)
    mark(f"{name}: end")
run("first job")
run("second job")
"""


class Processes:
    """The processes that a program has started: their processor time, and the most memory beside the JVM."""

    def __init__(self, root: int) -> None:
        self._cpu: dict[tuple[int, int], float] = {}
        self._known: set[int] = {root}
        self._root = root
        self.samples: list[tuple[float, int, int]] = []  # time, processes and bytes beside the JVM and the program

    def sample(self, memory: bool) -> None:
        parents: dict[int, tuple[int, int, float, str]] = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    text = Path("/proc", entry, "stat").read_text()
                except OSError:
                    continue
                fields = text.rsplit(")", 1)[1].split()
                cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                parents[int(entry)] = int(fields[1]), int(fields[19]), cpu, text.split("(", 1)[1].rsplit(")", 1)[0]
        grown = True
        while grown:
            grown = False
            for pid, (parent, *_) in parents.items():
                if parent in self._known and pid not in self._known:
                    self._known.add(pid)
                    grown = True
        alive = [pid for pid in self._known if pid in parents]
        for pid in alive:
            self._cpu[pid, parents[pid][1]] = parents[pid][2]
        if memory:
            others = [pid for pid in alive if pid != self._root and parents[pid][3] != "java"]
            self.samples.append((time.time(), len(others), sum(_proportional_size(pid) for pid in others)))

    @property
    def cpu(self) -> float:
        return sum(self._cpu.values())


def _proportional_size(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def run(command: list[str], source: Path, memory: bool = False) -> tuple[float, Processes, list[tuple[float, str]]]:
    """Runs a command. Returns its seconds, its processes, and its lines of output with their times."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages are compiled
    began = time.time()
    process = subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines: list[tuple[float, str]] = []

    def read() -> None:
        assert process.stdout is not None
        lines.extend((time.time(), line.rstrip()) for line in process.stdout)

    reader = threading.Thread(target=read)
    reader.start()
    found, last = Processes(process.pid), 0.0
    while process.poll() is None:
        due = memory and time.time() - last > 0.5
        found.sample(due)
        last = time.time() if due else last
        time.sleep(0.05)
    seconds = time.time() - began
    reader.join()
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return seconds, found, [(began, ""), *lines]


def phases(source: Path) -> tuple[dict[str, float], dict[str, tuple[int, int]]]:
    """The seconds of each phase, and the most processes and bytes of each job beside the JVM and the program."""
    seconds, processes, lines = run([sys.executable, "-c", PHASES], source, memory=True)
    marks = [
        (m["phase"], m["time"]) for m in map(json.loads, (line for _, line in lines if line.startswith('{"phase"')))
    ]
    spent, previous = {}, lines[0][0]
    for name, moment in marks:
        spent[name], previous = moment - previous, moment
    spent["shutdown"] = lines[0][0] + seconds - previous
    times = dict(marks)
    needed = {}
    for job, begin in (("first job", "JVM and session"), ("second job", "first job: end")):
        inside = [s for s in processes.samples if times[begin] <= s[0] <= times[f"{job}: end"]] or [(0.0, 0, 0)]
        needed[job] = max(s[1] for s in inside), max(s[2] for s in inside)
    before = [s for s in processes.samples if s[0] <= times["first job: end"]][-1]
    needed["added by the second job"] = (
        max(0, needed["second job"][0] - before[1]),
        max(0, needed["second job"][1] - before[2]),
    )
    return spent, needed


def demo(source: Path) -> float:
    """The seconds from the start of Spark to the first figures of the demo."""
    _, _, lines = run([str(Path(sys.executable).parent / "penstock"), "demo"], source)
    started = next(moment for moment, line in lines if "Spark has started" in line)
    return next(moment for moment, line in lines if moment >= started and " · batch " in line) - started


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--before", type=Path, help="The folder src of an earlier version.")
    options = arguments.parse_args()
    plain = Path(tempfile.mkdtemp(prefix="penstock-bench-"), "plain.py")
    plain.write_text(PLAIN)
    job = [str(Path(sys.executable).parent / "penstock"), "run", "examples/totals.py"]
    contenders: dict[str, tuple[list[str], Path]] = {
        "plain PySpark": ([sys.executable, str(plain)], ROOT / "src"),
        "penstock run": (job, ROOT / "src"),
    }
    if options.before:
        contenders["penstock run, before"] = job, options.before.resolve()
    if has_local_engine():
        contenders["penstock run --local"] = [*job[:2], "--local", job[2]], ROOT / "src"
    wall: dict[str, list[float]] = {name: [] for name in contenders}
    cpu: dict[str, list[float]] = {name: [] for name in contenders}
    run(job, ROOT / "src")  # it writes the archive of classes, if there is none
    for turn in range(options.repeats):
        for name, (command, source) in contenders.items():
            seconds, processes, _ = run(command, source)
            wall[name].append(seconds)
            cpu[name].append(processes.cpu)
            print(f"round {turn + 1}: {name}: {seconds:.1f} s, CPU {processes.cpu:.1f} s", file=sys.stderr, flush=True)
    return report(options, wall, cpu)


def has_local_engine() -> bool:
    answer = subprocess.run(
        [str(Path(sys.executable).parent / "penstock"), "run", "--help"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return "--local" in answer.stdout


def report(options: argparse.Namespace, wall: dict[str, list[float]], cpu: dict[str, list[float]]) -> int:
    ratio = statistics.median(a / b for a, b in zip(wall["penstock run"], wall["plain PySpark"], strict=True))
    seconds, cpu_seconds = measure.medians(wall), measure.medians(cpu)
    rounds = [phases(ROOT / "src") for _ in range(min(3, options.repeats))]
    spent = {name: statistics.median(r[0][name] for r in rounds) for name in rounds[0][0]}
    needed = {name: max((r[1][name] for r in rounds), key=lambda n: n[1]) for name in rounds[0][1]}
    second = spent["second job: first result"] + spent["second job: end"]
    added_processes, added_bytes = needed["added by the second job"]
    figures_of_demo = demo(ROOT / "src")
    figures: dict[str, Any] = {
        "seconds": {n: round(v, 2) for n, v in seconds.items()},
        "processor seconds": {n: round(v, 2) for n, v in cpu_seconds.items()},
        "all rounds, seconds": {n: [round(v, 1) for v in values] for n, values in wall.items()},
        "ratio of processor time": cpu_seconds["penstock run"] / cpu_seconds["plain PySpark"],
        "phases, seconds": {n: round(v, 2) for n, v in spent.items()},
        "processes and MB beside the JVM and the program": {n: [c, round(b / 1e6)] for n, (c, b) in needed.items()},
        "load of the machine": round(os.getloadavg()[1], 1),
        "repeats": options.repeats,
    }
    rows: list[tuple[Any, ...]] = [(name, seconds[name], cpu_seconds[name]) for name in seconds]
    rows += [(f"phase: {name}", value, "") for name, value in spent.items()]
    rows.append(("first figures of the demo after Spark has started", figures_of_demo, ""))
    measure.table("start", ("", "seconds", "processor seconds"), rows)
    measure.bars("start", "A job of three records in a new process", seconds, "seconds")
    targets = {
        "penstock run / plain PySpark": (ratio, 1.3),
        "second job, seconds": (second, 4.0),
        "MB per job": (added_bytes / 1e6, 160.0),
        "processes per job": (float(added_processes), 5.0),
        "first figures of the demo, seconds": (figures_of_demo, 8.0),
    }
    return measure.finish("start", figures, targets, lower_is_better=tuple(targets))


if __name__ == "__main__":
    sys.exit(main())
