"""The Yahoo streaming benchmark from Kafka: views per campaign and window of 10 s, Penstock compared with other systems.

Penstock writes the current counts to Redis each second while it reads. Its final counts are read back and compared with those of
the generator. The other systems have their counts in memory. These are also compared, if a system reports them. All contenders
read the same bounded topic, in their own processes, one after the other. Results are medians. The rate of a contender is that of
the running job without its start. It excludes the first batch, or, for systems without batches, it is computed from the
difference between a long and a short run. The rates of the whole job and of the whole process are also reported.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "peers"))

import ads
import measure
import redis
from contenders import (
    HEAD,
    PEERS_Y,
    PENSTOCK,
    RAW,
    Contender,
    Input,
    Measurement,
    log,
    measure_contender,
    parse_options,
    select,
    table_row,
)

from servers import start_servers

_POLL_INTERVAL = 0.1  # seconds


class RedisWatcher:
    """Polls Redis while Penstock runs, to measure the time between updates."""

    def __init__(self, address: str) -> None:
        host, port = address.split(":")
        self._client = redis.Redis(host=host, port=int(port), decode_responses=True)
        self._client.flushdb()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self.changes: list[float] = []
        self._thread.start()

    def _poll(self) -> None:
        before = "{}"  # empty, so the time before the first value is not counted
        while not self._ended.wait(_POLL_INTERVAL):
            now = str(self._client.hgetall("camp-0"))
            if now != before:
                self.changes.append(time.time())
                before = now

    def end(self) -> dict[tuple[str, int], int]:
        """Stops polling. Returns all counts."""
        self._ended.set()
        self._thread.join()
        counts = {}
        for campaign in self._client.scan_iter("camp-*", count=1000):
            for window, count in self._client.hgetall(campaign).items():
                counts[campaign, int(window)] = int(count)
        self._client.close()
        return counts

    def longest_gap(self) -> float:
        """Returns the longest time between two changes in seconds, without the first batch, as for rates."""
        return max((b - a for a, b in pairwise(self.changes[1:])), default=0.0)


class Bench:
    """Runs contenders and collects their measurements."""

    def __init__(self, few: Input, many: Input, time_box: float) -> None:
        self._few = few
        self._many = many
        self._time_box = time_box
        self._expected = ads.expected_counts(many.events)
        self.runs: dict[str, list[Measurement]] = {}
        self.count_checks: dict[str, str] = {}
        self.longest_gaps: list[float] = []

    def run(self, contender: Contender) -> None:
        watcher = RedisWatcher(self._many.redis) if contender is PENSTOCK else None
        measurement = measure_contender(contender, "Y", self._few, self._many, self._time_box)
        reported = measurement.many.report.get("counts")
        counts = None if reported is None else {(campaign, window): count for campaign, window, count in reported}
        if watcher is not None:
            counts = watcher.end()
            self.longest_gaps.append(watcher.longest_gap())
        self.count_checks[contender.name] = self._check_counts(contender, counts)
        self.runs.setdefault(contender.name, []).append(measurement)
        log(
            f"{contender.name}: {measurement.steady:,.0f} events/s; job {measurement.many.seconds:.1f} s, "
            f"process {measurement.many.whole:.1f} s; counts {self.count_checks[contender.name]}"
            + (f"; a new value at least every {self.longest_gaps[-1]:.1f} s" if watcher is not None else "")
        )

    def _check_counts(self, contender: Contender, counts: dict[tuple[str, int], int] | None) -> str:
        if counts is None:
            return "not reported"
        if counts == self._expected:
            return "as generated"
        missing = sum(self._expected.values()) - sum(counts.values())
        if contender is PENSTOCK:
            raise SystemExit(f"Penstock's counts in Redis are wrong: {missing} of all views are missing")
        return f"{missing:,} of {sum(self._expected.values()):,} views missing"


def main() -> int:
    options = parse_options(__doc__)
    contenders = select((RAW, PENSTOCK, *PEERS_Y), options)
    with start_servers(options.events) as (few, many):
        bench = Bench(few, many, options.time_box)
        for turn in range(options.repeats):
            log(f"round {turn + 1}/{options.repeats}")
            for contender in contenders:
                bench.run(contender)
    return 0 if options.only else write_results(bench, contenders)


def write_results(bench: Bench, contenders: list[Contender]) -> int:
    """Writes the table, the plot and the line of JSON."""
    rates = {c.name: statistics.median(r.steady for r in bench.runs[c.name]) for c in contenders}
    rows = [(*table_row(c, bench.runs[c.name]), bench.count_checks[c.name]) for c in contenders]
    measure.table("yahoo", (*HEAD, "counts"), rows)
    measure.bars("yahoo", "Yahoo streaming benchmark from Kafka, two cores", rates, "events/s")
    best = max(rates[c.name] for c in PEERS_Y)
    targets = {
        "Penstock / raw read": (rates[PENSTOCK.name] / rates[RAW.name], 0.6),
        "Penstock / best peer": (rates[PENSTOCK.name] / best, 2.5),
    }
    figures = {**rates, "longest time between two values in Redis, s": max(bench.longest_gaps)}
    return measure.finish("yahoo", figures, targets)


if __name__ == "__main__":
    sys.exit(main())
