"""Nexmark q0-q2, q10-q19, q21 and q22 from Kafka in JSON: Penstock compared with Flink SQL.

See bench/nexmark/comparison.py for how it is measured. Results are medians. Before, Penstock runs each query on some of the
events, and its results are compared with those of DuckDB. The other queries of Nexmark are in bench/nexmark_bench.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "nexmark"), str(HERE / "peers")]

import measure  # noqa: E402
from comparison import HEAP, MINI_BATCH, PENSTOCK, ROCKSDB, Comparison, compare, log, parse_options, plot  # noqa: E402

CALC = ("q0", "q1", "q2", "q10", "q14", "q21", "q22")
QUERIES = ("q0", "q1", "q2", "q10", "q11", "q12", "q13", "q14", "q15", "q16", "q17", "q18", "q19", "q21", "q22")


def main() -> int:
    options = parse_options(__doc__, QUERIES, [PENSTOCK, ROCKSDB, HEAP, MINI_BATCH])
    comparison = compare(options)
    if options.partial or not comparison.rates:
        return 0
    return write_results(comparison, options)


def write_results(comparison: Comparison, options: argparse.Namespace) -> int:
    """Writes the table, the plot and the line of JSON."""
    rates, costs = comparison.medians(comparison.rates), comparison.medians(comparison.costs)
    ratios, checks = comparison.ratios(), comparison.checks
    measured = [q for q in QUERIES if q in ratios]
    if measured != list(QUERIES):
        log(f"not all queries were measured: only {', '.join(measured)}")
    rows = []
    for query in options.queries:
        found = rates.get(query, {})
        rows.append(
            (
                query,
                *(f"{found[c]:,.0f}" if c in found else "-" for c in options.contenders),
                f"{ratios[query]:.2f}" if query in ratios else "-",
                " / ".join(f"{costs[query][c]:.1f}" for c in (PENSTOCK, ROCKSDB) if c in costs.get(query, {})),
                checks.get(query, "-").splitlines()[0],
            )
        )
    heads = tuple(f"{c}, events/s" for c in options.contenders)
    processor = f"µs of processor time per event, {PENSTOCK} / {ROCKSDB}"
    measure.table("sql", ("query", *heads, f"{PENSTOCK} / {ROCKSDB}", processor, "compared with DuckDB"), rows)
    plot("sql", rates, options.contenders)
    correct = sum(1 for q in options.queries if checks.get(q, "").startswith("equals"))
    targets = {
        f"queries faster than {ROCKSDB}": (sum(r > 1 for r in ratios.values()), 12),
        "smallest ratio": (min((ratios.get(q, 0.0) for q in QUERIES), default=0.0), 0.7),
        "smallest ratio of the calc queries": (min((ratios.get(q, 0.0) for q in CALC), default=0.0), 2),
        "queries with DuckDB's result": (correct, len(QUERIES)),
    }
    figures = {
        "events": comparison.many,
        "events per batch of Penstock": options.batch,
        "repeats": options.repeats,
        **{f"{q}: {c}": round(rate) for q, found in rates.items() for c, rate in found.items()},
        **{
            f"{q}: {c}, µs of processor time per event": round(cost, 1)
            for q, found in costs.items()
            for c, cost in found.items()
        },
    }
    return measure.finish("sql", figures, targets)


if __name__ == "__main__":
    sys.exit(main())
