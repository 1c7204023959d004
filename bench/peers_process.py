"""A keyed process function in Python, from Kafka: 100,000 users, one output per event, Penstock compared with other systems.

The state is the number of events of a user and the time of the last one. The rate of a contender is that of the running job without
its start. It excludes the first batch, or, for systems without batches, it is computed from the difference between a long and a
short run. The rates of the whole job and of the whole process are also reported.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "peers"))

import measure
from contenders import (
    HEAD,
    PEERS_P,
    PENSTOCK,
    Measurement,
    log,
    measure_contender,
    parse_options,
    select,
    table_row,
)

from servers import start_servers


def main() -> int:
    options = parse_options(__doc__)
    contenders = select((PENSTOCK, *PEERS_P), options)
    runs: dict[str, list[Measurement]] = {contender.name: [] for contender in contenders}
    with start_servers(options.events) as (few, many):
        for turn in range(options.repeats):
            log(f"round {turn + 1}/{options.repeats}")
            for contender in contenders:
                measurement = measure_contender(contender, "P", few, many, options.time_box)
                runs[contender.name].append(measurement)
                log(
                    f"{contender.name}: {measurement.steady:,.0f} events/s; job {measurement.many.seconds:.1f} s, "
                    f"process {measurement.many.whole:.1f} s"
                )
    if options.only:
        return 0
    rates = {name: statistics.median(m.steady for m in measurements) for name, measurements in runs.items()}
    rows = [(*table_row(c, runs[c.name]), f"{runs[c.name][0].many.events:,}") for c in contenders]
    measure.table("peers_process", (*HEAD, "events"), rows)
    measure.bars("peers_process", "Keyed process function from Kafka, two cores", rates, "events/s")
    best = max(rates[c.name] for c in PEERS_P)
    return measure.finish("peers_process", rates, {"Penstock / best peer": (rates[PENSTOCK.name] / best, 2.0)})


if __name__ == "__main__":
    sys.exit(main())
