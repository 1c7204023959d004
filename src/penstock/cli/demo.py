"""`penstock demo`: a job worth watching."""

from __future__ import annotations

import json
import sys
import time
from contextlib import nullcontext
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from penstock import StreamExecutionEnvironment
from penstock.cli.ads import Total, campaign_totals
from penstock.cli.engine import watched_by
from penstock.cli.failure import failure_of
from penstock.cli.quiet import new_log, rest_to, terminal
from penstock.cli.watcher import JobFacts, Report, Watcher, counted, size_of
from penstock.config import JVM_OPTIONS, MASTER
from penstock.errors import PenstockError

_BATCHES = 10
_FOR_SHORT_JOBS = "-XX:TieredStopAtLevel=1"  # the JVM compiles less and starts faster


def demo(
    events: Annotated[int, typer.Option(metavar="N", min=1, help="How many ad impressions to generate.")] = 500_000,
    master: Annotated[str, typer.Option(metavar="URL", help="Spark's master.")] = "local[*]",
    as_json: Annotated[bool, typer.Option("--json", help="The result as one line of JSON.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Spark's own output.")] = False,
) -> None:
    """Run a job: ad impressions per campaign, with timers, late events and a side output."""
    log = None if verbose else new_log()
    board = Board(events)
    try:
        with watched_by(board, log, {MASTER.key: master, JVM_OPTIONS.key: _FOR_SHORT_JOBS}):
            env = StreamExecutionEnvironment.get_execution_environment()
            with board.live():
                for total in campaign_totals(env, events, max(1, events // _BATCHES)).execute_and_collect("ads"):
                    board.totals[total.campaign] = total
    except PenstockError as error:
        failure = failure_of(error)
        print(f"penstock: [{failure.code}] {failure.text}", file=sys.stderr)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        rest_to(log)
        raise typer.Exit(130) from None
    _show(board, as_json)


class Board(Watcher):
    """The campaigns so far and how fast it goes, shown while the job runs."""

    def __init__(self, events: int) -> None:
        super().__init__()
        self.totals: dict[str, Total] = {}
        self._events = events
        self._console = Console(file=terminal(), highlight=False)
        self._said = 0.0

    def live(self) -> Any:
        """In a terminal the board itself; else a line now and then."""
        if not self._console.is_terminal:
            return nullcontext()
        return Live(
            console=self._console,
            get_renderable=self.table,
            transient=True,
            refresh_per_second=4,
            redirect_stdout=False,
        )

    def started(self, job: JobFacts) -> None:
        super().started(job)
        self._console.print(
            f"penstock: Spark is up; {self._events:,} ad impressions of one hour, two levels of state", style="dim"
        )

    def batch(self, job: JobFacts, report: Report) -> None:
        super().batch(job, report)
        if not self._console.is_terminal and time.monotonic() - self._said >= 1:
            self._said = time.monotonic()
            self._console.print(self._progress(), style="dim")

    def table(self) -> Table:
        """The campaigns, the one that earned most first."""
        table = Table(
            title="Ad campaigns", caption=self._progress(), header_style="bold", title_style="bold", expand=False
        )
        table.add_column("campaign", min_width=14)
        for heading in ("impressions", "earned", "best minute", "late"):
            table.add_column(heading, justify="right", min_width=9)
        for total in self.ranked():
            shown, minute = total.best_minute
            best = f"{shown:,} at {clock(minute)}" if shown else ""
            table.add_row(total.campaign, f"{total.shown:,}", dollars(total.earned), best, f"{total.late:,}")
        return table

    def ranked(self) -> list[Total]:
        now = self.totals.copy()  # the board is drawn by a thread of its own
        return sorted(now.values(), key=lambda t: -t.earned)

    def _progress(self) -> str:
        if not self.jobs:
            return "starting Spark ..."
        job = self.jobs[-1]
        parts = [f"{job.read:,} of {self._events:,} events", f"{job.rate:,.0f}/s", f"state {size_of(job.state_bytes)}"]
        if job.watermark is not None and 0 < job.watermark < 2**62:
            parts.insert(2, f"event time {clock(job.watermark)}")
        return " · ".join(parts)


def clock(millis: int) -> str:
    """The hour and minute of an event time, in UTC.

    >>> clock(1_767_258_000_000)
    '09:00'
    """
    return time.strftime("%H:%M", time.gmtime(millis / 1000))


def dollars(thousandths: int) -> str:
    """Thousandths of a cent as dollars.

    >>> dollars(123_456_789)
    '$1,234.57'
    """
    return f"${thousandths / 100_000:,.2f}"


def _show(board: Board, as_json: bool) -> None:
    job = board.jobs[-1]
    if as_json:
        campaigns = [{**t._asdict(), "best_minute": clock(t.best_minute[1])} for t in board.ranked()]
        print(json.dumps({**job.to_dict(), "campaigns": campaigns}))
        return
    table = board.table()
    table.caption = None
    console = Console(highlight=False)
    console.print(table)
    late = sum(t.late for t in board.totals.values())
    console.print(
        f"{job.read:,} impressions in {counted(job.batches, 'batch', 'batches')} and {job.seconds:.1f} s "
        f"({job.read / job.seconds:,.0f}/s); {late:,} came after their minute was over and went to a side output."
    )
