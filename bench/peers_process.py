"""A keyed process function in Python, from Kafka: 100,000 users, one output per event; Penstock beside its peers.

State is how often a user came and when last. A contender's rate is that of the running job, so that no start counts for anybody:
without its first batch, or, where there are no batches, what many events take longer than a few. Those of the whole job and of the
whole process stand beside it.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "peers"))

import measure
from contenders import HEAD, PEERS_P, PENSTOCK, Measured, asked, chosen, measured, say, table_row

from servers import serving


def main() -> int:
    options = asked(__doc__)
    contenders = chosen((PENSTOCK, *PEERS_P), options)
    runs: dict[str, list[Measured]] = {contender.name: [] for contender in contenders}
    with serving(options.events) as (few, many):
        for turn in range(options.repeats):
            say(f"round {turn + 1}/{options.repeats}")
            for contender in contenders:
                ran = measured(contender, "P", few, many, options.time_box)
                runs[contender.name].append(ran)
                say(
                    f"{contender.name}: {ran.steady:,.0f} events/s; {ran.many.seconds:.1f} s, whole {ran.many.whole:.1f} s"
                )
    if options.only:
        return 0
    rates = {name: statistics.median(r.steady for r in ran) for name, ran in runs.items()}
    rows = [(*table_row(c, runs[c.name]), f"{runs[c.name][0].many.events:,}") for c in contenders]
    measure.table("peers_process", (*HEAD, "events"), rows)
    measure.bars("peers_process", "Keyed process function from Kafka, two cores", rates, "events/s")
    best = max(rates[c.name] for c in PEERS_P)
    return measure.finish("peers_process", rates, {"Penstock / best peer": (rates[PENSTOCK.name] / best, 2.0)})


if __name__ == "__main__":
    sys.exit(main())
