"""A pattern of three steps with a time limit over 100,000 keys, with increasing numbers of events that match no step.

In the runs with 0 % every event is the next step of the pattern of its key. Results are events per second of the batches after
the first one. The number of matches is compared with that of the event generator.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

import measure
import msgspec

import penstock as ps
from penstock.cep import CEP, Pattern
from penstock.connectors import DiscardingSink, json_lines
from penstock.spark.session.session import configure_session, get_session

KEYS = 100_000
WITHIN = 60_000
SHARES = (0, 50, 90, 99)  # percentages of events that match no step
STEPS = ("view", "cart", "pay")


class Event(msgspec.Struct, gc=False):
    k: str
    kind: str
    ts: int


def write_events(folder: Path, files: int, per_file: int, share: int) -> int:
    """Writes events and returns the number of matches in them."""
    rng = random.Random(7)
    folder.mkdir(parents=True)
    partial_matches: dict[int, list[int]] = {}  # by key: times of the steps
    number = matches = 0
    for file in range(files):
        with open(folder / f"{file:04d}.json", "w") as out:
            for _ in range(per_file):
                user, ts, kind = rng.randrange(KEYS), 1_700_000_000_000 + number // 20, "look"
                if rng.random() * 100 >= share:
                    steps = partial_matches.setdefault(user, [])
                    kind = STEPS[len(steps)]
                    steps.append(ts)
                    if len(steps) == len(STEPS):
                        matches += steps[-1] - steps[0] < WITHIN
                        steps.clear()
                out.write(f'{{"k":"user-{user:06d}","kind":"{kind}","ts":{ts}}}\n')
                number += 1
    return matches


def purchase_pattern() -> Pattern[Event]:
    pattern = Pattern.begin(STEPS[0]).where(lambda e: e.kind == STEPS[0])
    for step in STEPS[1:]:
        pattern = pattern.followed_by(step).where(lambda e, step=step: e.kind == step)
    return pattern.within(WITHIN)


def rate(folder: Path, matches: int, scratch: Path, bytes_per_batch: int) -> float:
    env = ps.StreamExecutionEnvironment(
        ps.Configuration({"execution.checkpointing.dir": str(scratch), "state.local.dir": str(scratch / "state")})
    )
    strategy = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda e, _: e.ts)
    events = env.from_source(json_lines(folder, Event, bytes_per_batch=bytes_per_batch), strategy)
    found = CEP.pattern(events.key_by(lambda e: e.k), purchase_pattern()).select(
        lambda m: (m["view"][0].k, m["pay"][0].ts)
    )
    found.sink_to(DiscardingSink()).name("matches")
    result = env.execute()
    shutil.rmtree(scratch, ignore_errors=True)
    emitted = result.get_accumulator_result("matches.numRecordsIn")
    if emitted != matches:
        raise SystemExit(f"{emitted} matches were found, {matches} were expected")
    return measure.steady_rate(result.batches)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=4, help="batches")
    arguments.add_argument("--per-file", type=int, default=500_000, help="events in each")
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--shares", type=int, nargs="*", default=SHARES)
    options = arguments.parse_args()
    root = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    written = {s: write_events(root / str(s), options.files, options.per_file, s) for s in options.shares}
    session = get_session(ps.Configuration({"spark.master": "local[2]"}))
    configure_session(session, ps.Configuration(), 2)
    sizes = {s: max(f.stat().st_size for f in (root / str(s)).iterdir()) for s in options.shares}
    contenders = {
        f"{s} % match nothing": partial(rate, root / str(s), written[s], root / f"run-{s}", sizes[s])
        for s in options.shares
    }
    found = measure.alternate(contenders, options.repeats, warm_up=1)
    shutil.rmtree(root, ignore_errors=True)
    rates = dict(zip(options.shares, measure.medians(found).values(), strict=True))
    measure.table(
        "cep", ("events", "median events/s", "runs"), [(n, statistics.median(v), v) for n, v in found.items()]
    )
    title = "A pattern of three steps, 100,000 keys, two cores"
    line = {"penstock": ([float(s) for s in rates], list(rates.values()))}
    measure.lines("cep", title, "% of events that match nothing", "events/s", line)
    slowest, first = min(rates.values()), rates[options.shares[0]]
    figures = {f"{s} %": r for s, r in rates.items()} | {"slowest": slowest, "slowest/first": slowest / first}
    return measure.finish("cep", figures, {"slowest": (slowest, 100_000), "slowest/first": (slowest / first, 0.9)})


if __name__ == "__main__":
    sys.exit(main())
