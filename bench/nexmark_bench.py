"""All of Nexmark from Kafka in JSON, q0-q23 and four patterns: Penstock compared with Flink SQL, with RocksDB and on the heap.

See bench/nexmark/comparison.py for how it is measured. Results are medians. Flink does not run q6. Before, Penstock runs each
query on some of the events, and its results are compared with those of DuckDB, or of Flink for the patterns, which DuckDB does
not have. The state is the size of all keys and values of Penstock, and the size of the largest checkpoint of Flink.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "nexmark"), str(HERE / "peers")]

import measure  # noqa: E402
from comparison import HEAP, PENSTOCK, ROCKSDB, Comparison, compare, parse_options, plot  # noqa: E402

PATTERNS = ("cep0", "cep1", "cep2", "cep3")
QUERIES = tuple(f"q{n}" for n in range(24)) + PATTERNS
REFUSED = ("q6",)  # by Flink


def main() -> int:
    options = parse_options(__doc__, QUERIES, [PENSTOCK, ROCKSDB, HEAP])
    comparison = compare(options, REFUSED)
    if options.partial or not comparison.rates:
        return 0
    return write_results(comparison, options)


def write_results(comparison: Comparison, options: argparse.Namespace) -> int:
    """Writes the table, the plot and the line of JSON."""
    medians = {
        "events/s": comparison.medians(comparison.rates),
        "s of processor time per million events": comparison.medians(comparison.costs),
        "state in MB": {
            q: {c: size / 1e6 for c, size in found.items()}
            for q, found in comparison.medians(comparison.states).items()
        },
    }
    ratios, checks = comparison.ratios(), comparison.checks
    rows = []
    for query in options.queries:
        cells = []
        for unit, figures in medians.items():
            form = "{:,.0f}" if unit == "events/s" else "{:,.1f}"
            found = figures.get(query, {})
            cells.append(" / ".join(form.format(found[c]) if c in found else "-" for c in options.contenders))
        ratio = f"{ratios[query]:.2f}" if query in ratios else "-"
        rows.append((query, *cells, ratio, checks.get(query, "-").splitlines()[0]))
    names = " / ".join(options.contenders)
    heads = tuple(f"{unit}: {names}" for unit in medians)
    measure.table("nexmark", ("query", *heads, f"{PENSTOCK} / {ROCKSDB}", "result"), rows)
    plot("nexmark", medians["events/s"], options.contenders)
    both = [q for q in QUERIES if q.startswith("q") and q not in REFUSED]
    targets = {
        f"queries faster than {ROCKSDB}": (sum(ratios.get(q, 0.0) > 1 for q in both), 20),
        "smallest ratio": (min(ratios.get(q, 0.0) for q in both), 0.7),
        "q6 runs": (float(PENSTOCK in comparison.rates.get("q6", {})), 1),
        "queries with the expected result": (
            sum(1 for q in QUERIES if checks.get(q, "").startswith("equals")),
            len(QUERIES),
        ),
    }
    figures = {
        "events": comparison.many,
        "events per batch of Penstock": options.batch,
        "repeats": options.repeats,
        **{
            f"{q}: {c}, {unit}": round(figure, 1)
            for unit, of_unit in medians.items()
            for q, found in of_unit.items()
            for c, figure in found.items()
        },
    }
    return measure.finish("nexmark", figures, targets)


if __name__ == "__main__":
    sys.exit(main())
