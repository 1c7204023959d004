"""`penstock demo`: a job worth watching."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock import StreamExecutionEnvironment
from penstock.cli.ads import Total, campaign_totals
from penstock.cli.board import operators
from penstock.cli.defaults import defaults
from penstock.cli.failure import told
from penstock.cli.interrupt import interrupts
from penstock.cli.quiet import rest_to
from penstock.cli.watcher import TerminalWatcher, figures
from penstock.cli.words import counted, event_time, size_of, span_of
from penstock.config import CONSOLE, JVM_OPTIONS, MASTER
from penstock.jobs.entry import JobEntry
from penstock.jobs.listener import listening
from penstock.jobs.progress import Progress

_BATCHES = 10
_FOR_SHORT_JOBS = "-XX:TieredStopAtLevel=1"  # the JVM compiles less and starts faster


def demo(
    events: Annotated[int, typer.Option(metavar="N", min=1, help="How many ad impressions to generate.")] = 500_000,
    master: Annotated[str, typer.Option(metavar="URL", help="Spark's master.")] = "local[*]",
    as_json: Annotated[bool, typer.Option("--json", help="The result as one line of JSON.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Spark's own output.")] = False,
) -> None:
    """Run a job: ad impressions per campaign, with timers, late events and a side output."""
    board = Board(events)
    options = {MASTER.key: master, JVM_OPTIONS.key: _FOR_SHORT_JOBS, CONSOLE.key: verbose}
    with told(), defaults(options), listening(board), interrupts(board) as heard:
        try:
            board.say("penstock: starting Spark ...")
            env = StreamExecutionEnvironment.get_execution_environment()
            for total in campaign_totals(env, events, max(1, events // _BATCHES)).execute_and_collect("ads"):
                board.totals[total.campaign] = total
        except KeyboardInterrupt:
            board.still()
            if last := board.last():
                rest_to(last[0].log)
            raise typer.Exit(heard.exit_code) from None
    _show(board, as_json)


class Board(TerminalWatcher):
    """The campaigns so far and how fast it goes, shown while the job runs."""

    def __init__(self, events: int, console: Console | None = None) -> None:
        super().__init__(console, pace=2.0)
        self.totals: dict[str, Total] = {}
        self._events = events

    def created(self, job: JobEntry) -> None:
        super().created(job)
        self.say(f"penstock: Spark is up; {self._events:,} ad impressions of one hour, two levels of state")

    def drawn(self) -> RenderableType:
        running = self.running()
        if not running or not self.totals:
            return super().drawn()
        progress = running[-1][1]
        line = Text(self._progress(progress), style="cyan")
        return Group(self.table(), line, operators(progress, self.console.width))

    def sum_up(self, job: JobEntry, progress: Progress) -> None:
        """The result says it all."""

    def table(self) -> Table:
        """The campaigns, the one that earned most first."""
        table = Table(title="Ad campaigns", header_style="bold", title_style="bold", expand=False)
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

    def _progress(self, progress: Progress) -> str:
        share = min(1.0, progress.read / self._events)
        parts = [
            f"{'━' * round(24 * share):╌<24} {share:.0%}",
            f"{progress.read_rate:,.0f}/s",
            f"state {size_of(progress.state_bytes)}",
        ]
        if reached := event_time(progress.watermark):
            parts.insert(2, f"event time {reached[11:16] or reached}")
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
    last = board.last()
    assert last is not None
    job, progress = last
    if as_json:
        campaigns = [{**t._asdict(), "best_minute": clock(t.best_minute[1])} for t in board.ranked()]
        print(json.dumps({**figures(job, progress), "campaigns": campaigns}))
        return
    console = Console(highlight=False)
    console.print(board.table())
    late = sum(t.late for t in board.totals.values())
    console.print(
        f"{progress.read:,} impressions in {counted(progress.batches, 'batch', 'batches')} and {span_of(job.seconds)} "
        f"({progress.read / max(job.seconds, 0.001):,.0f}/s); {late:,} came after their minute was over and went to a "
        f"side output.\n'penstock info {job.id[:8]}' shows the run, 'penstock list' all of them.",
        soft_wrap=True,
    )
