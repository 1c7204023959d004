"""Runs Nexmark queries with Penstock and with Flink SQL from one topic of Kafka, and checks and measures them.

Both systems run the same SQL on the same bounded topic, with two cores, and discard the results, except q10, which writes
files. A worker process of each system runs all queries. The rate of a query is (events of the topic - events of a small topic) /
(time of the job on the topic - time of the job on the small topic), so the start of a job is not included. The systems alternate.
"""

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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import events
import measure
from environments import python_of
from expected import QUERIES, Expected
from topic import write_topic

from penstock.devservers.jars import get_jars
from penstock.devservers.kafka import KafkaServer
from penstock.devservers.server import start_server

HERE = Path(__file__).parent
PENSTOCK = "Penstock"
ROCKSDB = "Flink, RocksDB"
HEAP = "Flink, heap"
MINI_BATCH = "Flink, RocksDB, mini-batch"
FLINK_BACKENDS = {ROCKSDB: "rocksdb", HEAP: "heap", MINI_BATCH: "rocksdb-mini-batch"}
_FEW = 100_000  # events of the run that measures the start of a job
_CHECKED = 60_000  # events of the run whose results are compared


class Worker:
    """A process that runs queries with one system."""

    def __init__(self, command: list[str], scratch: Path) -> None:
        scratch.mkdir()
        self._log = scratch / "worker.log"
        with self._log.open("wb") as errors:
            self._process = subprocess.Popen(
                [*command, "--scratch", str(scratch)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=scratch,
                env={k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONHOME")},
                start_new_session=True,
            )
        self._answer()

    def run(self, order: dict[str, Any]) -> dict[str, Any]:
        """Runs an order and returns the answer, with the processor time of the worker and of all processes that it started."""
        assert self._process.stdin is not None
        before = processor_time(self._process.pid)
        print(json.dumps(order), file=self._process.stdin, flush=True)
        answer = self._answer()
        answer["processor"] = processor_time(self._process.pid) - before
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"A worker ended:\n{self._log.read_text(errors='replace')[-3000:]}")
        return dict(json.loads(line))

    def stop(self) -> None:
        """Kills the process and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def processor_time(session: int) -> float:
    """Returns the processor time of all processes of a session, and of their ended children, in seconds."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        if int(fields[3]) == session:
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


@dataclass
class Comparison:
    """The workers, and what was measured: by query and contender, a figure per repetition."""

    bootstrap: str
    folder: Path
    few: int
    many: int
    workers: dict[str, Worker]
    quick: bool = False  # the start of a job is measured with the first queries only
    starts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    rates: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # events per second
    costs: dict[str, dict[str, list[float]]] = field(
        default_factory=dict
    )  # seconds of processor time per million events
    states: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # bytes
    checks: dict[str, str] = field(default_factory=dict)

    def order(self, contender: str, query: str, topic: str, collect: bool = False) -> dict[str, Any]:
        """Runs a query."""
        files = self.folder / "files"
        try:
            return self.workers[PENSTOCK if contender == PENSTOCK else "Flink"].run(
                {
                    "query": query,
                    "topic": topic,
                    "collect": collect,
                    "backend": FLINK_BACKENDS.get(contender, ""),
                    "bootstrap": self.bootstrap,
                    "side": str(self.folder / "side"),
                    "files": str(files),
                }
            )
        finally:
            shutil.rmtree(files, ignore_errors=True)

    def check(self, query: str, expected: Expected) -> None:
        """Compares the final table of a query of Penstock with DuckDB's, or with Flink's if DuckDB has no such query."""
        try:
            if query in QUERIES:
                rows = self.order(PENSTOCK, query, "checked", True)["rows"]
                result = _verdict(expected.differences(query, rows), "DuckDB")
            elif "Flink" in self.workers:
                rows, other = (_rows(self.order(system, query, "checked", True)) for system in (PENSTOCK, HEAP))
                result = _verdict((rows - other).total() + (other - rows).total(), "Flink")
            else:
                result = "-"
        except RuntimeError as error:
            result = f"failed: {error}"
        self.checks[query] = result
        log(f"{query}: {PENSTOCK}: {result}")

    def warm_up(self, contender: str, query: str) -> None:
        """Runs a query without measuring it, so that workers are started and Flink's code is compiled."""
        for topic in ("few", "many"):
            log(f"warm-up: {contender}: {self.order(contender, query, topic)['seconds']:.1f} s")

    def measure(self, contender: str, query: str) -> None:
        """Measures a query once."""
        try:
            starts = self.starts.setdefault(contender, [])
            if not self.quick or len(starts) < 2:
                starts.append(self.order(contender, query, "few"))
            few = min(starts, key=lambda start: float(start["seconds"])) if self.quick else starts[-1]
            found = self.order(contender, query, "many")
        except RuntimeError as error:
            log(f"{query}: {contender}: failed: {error}")
            return
        events = self.many - self.few
        rate = events / (found["seconds"] - few["seconds"])
        cost = 1e6 * (found["processor"] - few["processor"]) / events
        for figures, figure in (
            (self.rates, rate),
            (self.costs, cost),
            (self.states, float(found.get("state", 0))),
        ):
            figures.setdefault(query, {}).setdefault(contender, []).append(figure)
        log(
            f"{query}: {contender}: {rate:,.0f} events/s; {found['seconds']:.1f} s, start {few['seconds']:.1f} s; "
            f"{cost:.1f} s of processor time per million events; state of {found.get('state', 0):,} bytes"
            + (f"; batches {found['batches']}" if "batches" in found else "")
        )

    def medians(self, figures: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, float]]:
        """Returns the medians of some figures."""
        return {q: {c: statistics.median(runs) for c, runs in found.items()} for q, found in figures.items()}

    def ratios(self) -> dict[str, float]:
        """Returns the rate of Penstock divided by that of Flink with RocksDB, by query."""
        rates = self.medians(self.rates)
        return {q: found.get(PENSTOCK, 0.0) / found[ROCKSDB] for q, found in rates.items() if ROCKSDB in found}


def _verdict(different: int, engine: str) -> str:
    return f"equals {engine}" if different == 0 else f"{different} rows differ from {engine}"


def _rows(answer: dict[str, Any]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(map(str, row)) for row in answer["rows"])


@contextmanager
def started(options: argparse.Namespace) -> Iterator[Comparison]:
    """Starts the broker and the workers, and writes the topics."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    server, workers = None, {}
    try:
        if options.broker:
            address = options.broker
        else:
            server = start_server(KafkaServer(heap="1g"), folder / "kafka", None, log, guarded=True)
            address = server.address
        (folder / "side").mkdir()
        (folder / "side" / "side.json").write_text("\n".join(events.side_rows()) + "\n")
        if not options.broker:
            for topic, count in (("checked", _CHECKED), ("few", options.few), ("many", options.events)):
                log(f"writing {count:,} events")
                write_topic(address, topic, events.PARTITIONS, events.messages(count))
        if PENSTOCK in options.contenders:
            command = [sys.executable, str(HERE / "penstock_worker.py"), "--batch", str(options.batch)]
            workers[PENSTOCK] = Worker(command, folder / "penstock")
        if any(contender in FLINK_BACKENDS for contender in options.contenders):
            jars = ",".join(map(str, get_jars("flink-kafka").files))
            command = [python_of("flink"), str(HERE / "flink_worker.py"), "--jars", jars]
            workers["Flink"] = Worker(command, folder / "flink")
        yield Comparison(address, folder, options.few, options.events, workers, options.quick)
    finally:
        for worker in workers.values():
            worker.stop()
        if server is not None:
            server.stop()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def compare(options: argparse.Namespace, refused: Sequence[str] = ()) -> Comparison:
    """Checks and measures all queries. Flink does not run those that it refuses."""
    deadline = time.time() + 60 * options.minutes
    with started(options) as comparison:
        if not options.no_check and PENSTOCK in options.contenders:
            expected = Expected(_CHECKED)
            for query in options.queries:
                comparison.check(query, expected)
        for contender in options.contenders[:2]:
            comparison.warm_up(contender, options.queries[0])
        for turn in range(options.repeats):
            # The contenders of the targets first, in case the time limit ends the run.
            for some in ((PENSTOCK, ROCKSDB), (HEAP, MINI_BATCH)):
                chosen = [c for c in some if c in options.contenders]
                for query in options.queries:
                    for contender in chosen[:: 1 if turn % 2 == 0 else -1]:
                        if time.time() < deadline and (contender == PENSTOCK or query not in refused):
                            comparison.measure(contender, query)
    return comparison


def plot(bench: str, rates: dict[str, dict[str, float]], contenders: Sequence[str]) -> None:
    """Writes a chart with a group of bars per query."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    queries = list(rates)
    width = 0.8 / len(contenders)
    figure, axes = pyplot.subplots(figsize=(max(6, 0.8 * len(queries)), 4.5))
    for place, contender in enumerate(contenders):
        heights = [rates[q].get(contender, 0.0) / 1000 for q in queries]
        axes.bar([x + place * width for x in range(len(queries))], heights, width, label=contender)
    axes.set_xticks([x + 0.4 - width / 2 for x in range(len(queries))], queries)
    axes.set_ylabel("1,000 events/s")
    axes.set_title("Nexmark from Kafka in JSON, two cores")
    axes.legend()
    figure.tight_layout()
    figure.savefig(measure.RESULTS / f"{bench}.png", dpi=110)


def parse_options(description: str | None, queries: Sequence[str], contenders: Sequence[str]) -> argparse.Namespace:
    """Reads the options of a benchmark whose queries and contenders are these, if they are not given."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--few", type=int, default=_FEW)
    parser.add_argument("--batch", type=int, default=500_000, help="events of a batch of Penstock")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--queries", type=lambda text: text.split(","), default=list(queries))
    parser.add_argument(
        "--contenders", type=lambda text: text.split("/"), default=list(contenders), help="names, separated by slashes"
    )
    parser.add_argument("--minutes", type=float, default=240, help="no measurement starts later")
    parser.add_argument(
        "--quick", action="store_true", help="measure the start of a job with the first two queries only"
    )
    parser.add_argument("--no-check", action="store_true", help="do not check results")
    parser.add_argument("--broker", default="", help="host:port of a broker that has the topics already")
    parser.add_argument("--partial", action="store_true", help="write no results")
    parser.add_argument("--keep", action="store_true", help="keep the logs")
    return parser.parse_args()


def log(text: str) -> None:
    """Prints a line to the standard error."""
    print(text, file=sys.stderr, flush=True)
