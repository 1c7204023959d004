"""Compares two source trees: the jobs of bench/process.py and bench/windows.py in the test harness, or with --spark on Spark.

    python bench/compare_trees.py BASE NEW [--spark] [--only REGEX] [--rounds N]

BASE and NEW are folders with `src` and `bench`, such as `git worktree add` creates. Each tree has one process, and the two run the
same job alternately. The result of the harness is the least processor time of each, which other programs on the machine disturb
little. It needs no JVM. With --spark it is the median of the seconds that a million events take in batches after the first one: run
that on a quiet machine.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILES = 3  # batches


class Tree:
    """A source tree and the process that runs its jobs."""

    def __init__(self, folder: Path, data: Path, engine: str) -> None:
        path = os.pathsep.join([str(folder / "src"), str(folder / "bench")])
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(data), engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
        )
        self.source = self._answer()
        self.jobs: list[str] = self._answer()

    def run(self, job: str) -> float:
        """Runs a job and returns its seconds."""
        assert self._process.stdin is not None
        self._process.stdin.write(job + "\n")
        self._process.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        self._process.communicate()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("The process of a tree has ended; its error is above.")
        return json.loads(line)


def serve(data: Path, engine: str) -> None:
    """Runs the jobs that the standard input names, with the penstock and the benchmarks of PYTHONPATH."""
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        import penstock

        jobs = spark_jobs(data) if engine == "spark" else harness_jobs(data)
        for line in (penstock.__file__, list(jobs)):
            print(json.dumps(line), file=out, flush=True)
        for line in sys.stdin:
            gc.disable()  # as in workers
            began = time.process_time()
            seconds = jobs[line.strip()]() or time.process_time() - began
            gc.enable()
            gc.collect()
            print(seconds, file=out, flush=True)


def harness_jobs(data: Path) -> dict[str, Callable[[], float | None]]:
    import process
    import windows
    from process import Event as ProcessEvent
    from windows import Event as WindowEvent

    import penstock as ps
    from penstock.connectors import DiscardingSink, json_lines
    from penstock.functions.named_aggregates import count
    from penstock.testing import Harness

    def job(folder: Path, kind: type, event_time: bool, build: Callable[[Any], Any]) -> Callable[[], None]:
        strategy = ps.WatermarkStrategy.for_bounded_out_of_orderness(ps.Duration.of_seconds(1))
        strategy = strategy.with_timestamp_assigner(lambda e, _: e.ts)
        size = max((f.stat().st_size for f in folder.iterdir()), default=1)

        def run() -> None:
            env = ps.StreamExecutionEnvironment()
            source = json_lines(folder, kind, bytes_per_batch=size)
            build(env.from_source(source, strategy if event_time else None)).sink_to(DiscardingSink())
            Harness(env, parallelism=2, real_sinks=True).run()

        return run

    def keyed(function: Any, event_time: bool) -> Callable[[], None]:
        return job(data / "process", ProcessEvent, event_time, lambda s: s.key_by(lambda e: e.k).process(function))

    def window(windows_of: Callable[[Any], Any], aggregate: Any) -> Callable[[], None]:
        return job(data / "windows", WindowEvent, True, lambda s: windows_of(s).aggregate(aggregate))

    kinds = {
        "early firing": windows.early,
        "early by event time": windows.early_by_event_time,
        "tumbling": windows.tumbling,
        "sliding": windows.sliding,
        "session": windows.session,
    }
    jobs = {"value state": keyed(process.Gaps(), False), "map state and timer": keyed(process.Minutes(), True)}
    jobs |= {f"{name}: named": window(of, count()) for name, of in kinds.items()}
    jobs |= {f"{name}: Python": window(of, windows.Count()) for name, of in kinds.items()}
    return jobs


def spark_jobs(data: Path) -> dict[str, Callable[[], float | None]]:
    import process
    import windows

    import penstock as ps
    from penstock.functions.named_aggregates import count
    from penstock.spark.session.session import configure_session, get_session

    configure_session(get_session(ps.Configuration({"spark.master": "local[2]"})), ps.Configuration(), 2)

    def size(folder: Path) -> int:
        return max(f.stat().st_size for f in folder.iterdir())

    def keyed(function: Any, event_time: bool) -> Callable[[], float]:
        folder = data / "process"
        return lambda: 1e6 / process.penstock_rate(folder, function, scratch(), size(folder), event_time)

    def window(windows_of: Callable[[Any], Any], aggregate: Any) -> Callable[[], float]:
        folder = data / "windows"
        return lambda: 1e6 / windows.penstock_rate(folder, windows_of, aggregate, scratch(), size(folder))

    def scratch() -> Path:
        return Path(tempfile.mkdtemp(dir=data, prefix="scratch-"))

    return {"value state": keyed(process.Gaps(), False), "map state and timer": keyed(process.Minutes(), True)} | {
        f"{of.__name__}: {kind}": window(of, aggregate)
        for of in (windows.early, windows.early_by_event_time, windows.tumbling, windows.sliding, windows.session)
        for kind, aggregate in (("named", count()), ("Python", windows.Count()))
    }


def write_data(data: Path, per_file: int) -> None:
    import process
    import windows

    process.KEYS = per_file // 8  # as in bench/process.py
    process.write_events(data / "process", FILES, per_file)
    windows.write_events(data / "windows", FILES, per_file)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("base", type=Path)
    arguments.add_argument("new", type=Path)
    arguments.add_argument("--spark", action="store_true", help="run the jobs on Spark")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--per-file", type=int, default=100_000, help=f"events in each of {FILES} batches")
    arguments.add_argument("--only", default="", help="jobs whose names match this regular expression")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        write_data(Path(folder), options.per_file)
        engine = "spark" if options.spark else "harness"
        trees = {name: Tree(getattr(options, name), Path(folder), engine) for name in ("base", "new")}
        jobs = [name for name in trees["new"].jobs if re.search(options.only, name)]
        seconds: dict[str, dict[str, list[float]]] = {job: {name: [] for name in trees} for job in jobs}
        if options.spark:  # the first job of a session starts its workers
            for tree in trees.values():
                tree.run(jobs[0])
        for _ in range(options.rounds):
            for job in jobs:
                for name, tree in trees.items():
                    seconds[job][name].append(tree.run(job))
                    print(f"{job}: {name}: {seconds[job][name][-1]:.3f}", file=sys.stderr, flush=True)
        for tree in trees.values():
            tree.close()
    print(f"base: {trees['base'].source}\nnew:  {trees['new'].source}", file=sys.stderr)
    print("| job | base s | new s | new / base |\n|---|---|---|---|", file=sys.stderr)
    figures = {}
    for job, found in seconds.items():
        base, new = (statistics.median(found[name]) if options.spark else min(found[name]) for name in ("base", "new"))
        figures[job] = {"base": round(base, 3), "new": round(new, 3), "ratio": round(new / base, 3)}
        print(f"| {job} | {base:.3f} | {new:.3f} | {new / base:.3f} |", file=sys.stderr)
    print(json.dumps({"bench": "compare_trees", "engine": engine, "seconds": figures}))
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]), sys.argv[3])
    else:
        sys.exit(main())
