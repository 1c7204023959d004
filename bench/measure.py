"""Common parts of the benchmarks: alternate contenders, repeat, compute medians, write a table and a plot, print JSON."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RESULTS = Path(__file__).parent / "results"


def alternate(contenders: dict[str, Callable[[], float]], repeats: int, warm_up: int = 0) -> dict[str, list[float]]:
    """Runs all contenders in turn, `repeats` times, and returns their results. Warm-up rounds are not included."""
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(-warm_up, repeats):
        for name, run in contenders.items():
            figure = run()
            kind = "warm-up" if turn < 0 else f"round {turn + 1}/{repeats}"
            print(f"{kind}: {name}: {figure:,.1f}", file=sys.stderr, flush=True)
            if turn >= 0:
                found[name].append(figure)
    return found


def medians(found: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in found.items()}


def steady_rate(batches: list[dict[str, Any]]) -> float:
    """Returns the events per second of a Penstock job, without the first batch that has input."""
    measured = [b for b in batches if b["read"]][1:]
    return (
        sum(sum(b["read"].values()) for b in measured) / sum(b["millis"]["triggerExecution"] for b in measured) * 1000
    )


def spark_rate(frame: DataFrame, scratch: Path, mode: str = "append") -> float:
    """Runs a streaming query of Spark. Returns its rows per second, without its first batch."""
    query = (
        frame.writeStream.format("noop")
        .outputMode(mode)
        .option("checkpointLocation", str(scratch))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    batches = [p for p in query.recentProgress if p["numInputRows"]][1:]
    shutil.rmtree(scratch, ignore_errors=True)
    return sum(p["numInputRows"] for p in batches) / sum(p["durationMs"]["triggerExecution"] for p in batches) * 1000


def finish(
    bench: str, figures: dict[str, Any], targets: dict[str, tuple[float, float]], lower_is_better: tuple[str, ...] = ()
) -> int:
    """Writes the results and prints them as one line of JSON. `targets` maps names to (result, target).

    Returns the exit code, which is 1 if a target is not met.
    """
    met = all((f <= w) if name in lower_is_better else (f >= w) for name, (f, w) in targets.items())
    line = {
        "bench": bench,
        "figures": {k: round(v, 3) if isinstance(v, float) else v for k, v in figures.items()},
        "targets": {k: {"found": round(f, 3), "wanted": w} for k, (f, w) in targets.items()},
        "met": met,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{bench}.json").write_text(json.dumps(line, indent=1) + "\n")
    print(json.dumps(line))
    return 0 if met else 1


def table(bench: str, head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Writes a Markdown table to the results folder and to stderr."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(f"{c:,.1f}" if isinstance(c, float) else str(c) for c in row) + " |" for row in rows]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{bench}.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines), file=sys.stderr)


def bars(bench: str, title: str, values: dict[str, float], unit: str) -> None:
    """Writes a bar chart to the results folder."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(8, 0.6 * len(values) + 1.4))
    axes.barh(list(values), list(values.values()), color="#3b6ea5")
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.set_title(title)
    for index, value in enumerate(values.values()):
        axes.text(value, index, f" {value:,.0f}", va="center")
    axes.margins(x=0.15)
    figure.tight_layout()
    figure.savefig(RESULTS / f"{bench}.png", dpi=110)


def lines(
    bench: str,
    title: str,
    xlabel: str,
    ylabel: str,
    series: dict[str, tuple[list[float], list[float]]],
    log_x: bool = False,
) -> None:
    """Writes a line chart to the results folder."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for name, (xs, ys) in series.items():
        axes.plot(xs, ys, marker="o", label=name)
    if log_x:
        axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title)
    axes.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / f"{bench}.png", dpi=110)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    RESULTS.mkdir(exist_ok=True)
    return plt
