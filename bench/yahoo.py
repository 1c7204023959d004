"""The Yahoo streaming benchmark, from Kafka: views per campaign and window of 10 s, Penstock beside its peers.

Penstock writes the current counts to Redis each second while it reads; its final counts are read back and compared with those of
the generator. Peers keep their counts in memory, which are compared too where a peer tells them. All read the same bounded topic,
each in its own processes, in turn; figures are medians. A contender's rate is that of the running job, so that no start counts for
anybody: without its first batch, or, where there are no batches, what many events take longer than a few. Those of the whole job
and of the whole process stand beside it.
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
from contenders import HEAD, PEERS_Y, PENSTOCK, RAW, Contender, Input, Measured, asked, chosen, measured, say, table_row

from servers import serving

_LOOKS_EVERY = 0.1


class Watched:
    """Looks at Redis while Penstock runs: how old the newest values become."""

    def __init__(self, address: str) -> None:
        host, port = address.split(":")
        self._client = redis.Redis(host=host, port=int(port), decode_responses=True)
        self._client.flushdb()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.changes: list[float] = []
        self._thread.start()

    def _look(self) -> None:
        before = "{}"  # nothing yet: the start of the job is not a value that grows old
        while not self._ended.wait(_LOOKS_EVERY):
            now = str(self._client.hgetall("camp-0"))
            if now != before:
                self.changes.append(time.time())
                before = now

    def end(self) -> dict[tuple[str, int], int]:
        """All counts."""
        self._ended.set()
        self._thread.join()
        found = {}
        for campaign in self._client.scan_iter("camp-*", count=1000):
            for window, count in self._client.hgetall(campaign).items():
                found[campaign, int(window)] = int(count)
        self._client.close()
        return found

    def oldest(self) -> float:
        """Seconds between two changes, the longest: without the first batch, as for rates."""
        return max((b - a for a, b in pairwise(self.changes[1:])), default=0.0)


class Bench:
    """All runs of all contenders."""

    def __init__(self, few: Input, many: Input, time_box: float) -> None:
        self._few = few
        self._many = many
        self._time_box = time_box
        self._expected = ads.views(many.events)
        self.runs: dict[str, list[Measured]] = {}
        self.checked: dict[str, str] = {}
        self.oldest: list[float] = []

    def run(self, contender: Contender) -> None:
        watched = Watched(self._many.redis) if contender is PENSTOCK else None
        ran = measured(contender, "Y", self._few, self._many, self._time_box)
        counts = ran.many.told.get("counts")
        found = None if counts is None else {(campaign, window): count for campaign, window, count in counts}
        if watched is not None:
            found = watched.end()
            self.oldest.append(watched.oldest())
        self.checked[contender.name] = self._check(contender, found)
        self.runs.setdefault(contender.name, []).append(ran)
        say(
            f"{contender.name}: {ran.steady:,.0f} events/s; {ran.many.seconds:.1f} s, whole {ran.many.whole:.1f} s; "
            f"counts {self.checked[contender.name]}"
            + (f"; a new value at least every {self.oldest[-1]:.1f} s" if watched is not None else "")
        )

    def _check(self, contender: Contender, found: dict[tuple[str, int], int] | None) -> str:
        if found is None:
            return "not told"
        if found == self._expected:
            return "as generated"
        missing = sum(self._expected.values()) - sum(found.values())
        if contender is PENSTOCK:
            raise SystemExit(f"Penstock's counts in Redis are wrong: {missing} of all views are missing")
        return f"{missing:,} of {sum(self._expected.values()):,} views missing"


def main() -> int:
    options = asked(__doc__)
    contenders = chosen((RAW, PENSTOCK, *PEERS_Y), options)
    with serving(options.events) as (few, many):
        bench = Bench(few, many, options.time_box)
        for turn in range(options.repeats):
            say(f"round {turn + 1}/{options.repeats}")
            for contender in contenders:
                bench.run(contender)
    return 0 if options.only else tell(bench, contenders)


def tell(bench: Bench, contenders: list[Contender]) -> int:
    """Table, plot and the line of JSON."""
    rates = {c.name: statistics.median(r.steady for r in bench.runs[c.name]) for c in contenders}
    rows = [(*table_row(c, bench.runs[c.name]), bench.checked[c.name]) for c in contenders]
    measure.table("yahoo", (*HEAD, "counts"), rows)
    measure.bars("yahoo", "Yahoo streaming benchmark from Kafka, two cores", rates, "events/s")
    best = max(rates[c.name] for c in PEERS_Y)
    targets = {
        "Penstock / raw read": (rates[PENSTOCK.name] / rates[RAW.name], 0.6),
        "Penstock / best peer": (rates[PENSTOCK.name] / best, 2.5),
    }
    figures = {**rates, "longest time between two values in Redis, s": max(bench.oldest)}
    return measure.finish("yahoo", figures, targets)


if __name__ == "__main__":
    sys.exit(main())
