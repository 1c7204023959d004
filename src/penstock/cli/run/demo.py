"""`penstock demo`: runs an example job and shows its progress."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock import StreamExecutionEnvironment
from penstock.cli.render.board import operators_table
from penstock.cli.render.error_exit import error_exit
from penstock.cli.render.times import format_watermark
from penstock.cli.run.demo_job import Total, campaign_totals
from penstock.cli.run.interrupt import handle_interrupts
from penstock.cli.run.settings import default_options
from penstock.cli.run.stderr import redirect_stderr
from penstock.cli.run.watcher import TerminalWatcher, job_totals
from penstock.config.deployment_options import CONSOLE, JVM_OPTIONS, MASTER
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.progress import Progress
from penstock.jobs.run.listener import add_listener
from penstock.units import format_count, format_duration, format_size

_BATCHES = 10
_FAST_START = "-XX:TieredStopAtLevel=1"  # the JVM compiles less and starts faster


def demo(
    events: Annotated[int, typer.Option(metavar="N", min=1, help="How many ad impressions to generate.")] = 500_000,
    master: Annotated[str, typer.Option(metavar="URL", help="The Spark master.")] = "local[*]",
    as_json: Annotated[bool, typer.Option("--json", help="The result as one line of JSON.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Spark's own output.")] = False,
) -> None:
    """Run an example job: ad impressions per campaign, with timers, late events and a side output."""
    board = CampaignBoard(events)
    options = {MASTER.key: master, JVM_OPTIONS.key: _FAST_START, CONSOLE.key: verbose}
    with error_exit(), default_options(options), add_listener(board), handle_interrupts(board) as interrupts:
        try:
            board.print_line("penstock: starting Spark ...")
            env = StreamExecutionEnvironment.get_execution_environment()
            for total in campaign_totals(env, events, max(1, events // _BATCHES)).execute_and_collect("ads"):
                board.totals[total.campaign] = total
        except KeyboardInterrupt:
            board.hide_board()
            if last := board.last_job():
                redirect_stderr(last[0].log)
            raise typer.Exit(interrupts.exit_code) from None
    _show(board, as_json)


class CampaignBoard(TerminalWatcher):
    """Shows the totals of the campaigns and the progress while the job runs."""

    def __init__(self, events: int, console: Console | None = None) -> None:
        super().__init__(console, line_interval=2.0)
        self.totals: dict[str, Total] = {}
        self._events = events

    def on_created(self, job: JobEntry) -> None:
        super().on_created(job)
        self.print_line(
            f"penstock: Spark has started; {self._events:,} ad impressions of one hour, two levels with state"
        )

    def render(self) -> RenderableType:
        running = self.running_jobs()
        if not running or not self.totals:
            return super().render()
        progress = running[-1][1]
        line = Text(self._progress(progress), style="cyan")
        return Group(self.table(), line, operators_table(progress, self.console.width))

    def print_summary(self, job: JobEntry, progress: Progress) -> None:
        """Prints nothing, because the command prints its own result."""

    def table(self) -> Table:
        """A table of the campaigns, the one that earned most first."""
        table = Table(title="Ad campaigns", header_style="bold", title_style="bold", expand=False)
        table.add_column("campaign", min_width=14)
        for heading in ("impressions", "earned", "best minute", "late"):
            table.add_column(heading, justify="right", min_width=9)
        for total in self.ranking():
            shown, minute = total.best_minute
            best = f"{shown:,} at {hour_and_minute(minute)}" if shown else ""
            table.add_row(total.campaign, f"{total.shown:,}", format_dollars(total.earned), best, f"{total.late:,}")
        return table

    def ranking(self) -> list[Total]:
        totals = self.totals.copy()  # another thread renders the board
        return sorted(totals.values(), key=lambda t: -t.earned)

    def _progress(self, progress: Progress) -> str:
        share = min(1.0, progress.read / self._events)
        parts = [
            f"{'━' * round(24 * share):╌<24} {share:.0%}",
            f"{progress.read_rate:,.0f}/s",
            f"state {format_size(progress.state_bytes)}",
        ]
        if watermark := format_watermark(progress.watermark):
            parts.insert(2, f"event time {watermark[11:16] or watermark}")
        return " · ".join(parts)


def hour_and_minute(millis: int) -> str:
    """The hour and minute of an event time in UTC.

    >>> hour_and_minute(1_767_258_000_000)
    '09:00'
    """
    return time.strftime("%H:%M", time.gmtime(millis / 1000))


def format_dollars(thousandths: int) -> str:
    """Thousandths of a cent as dollars.

    >>> format_dollars(123_456_789)
    '$1,234.57'
    """
    return f"${thousandths / 100_000:,.2f}"


def _show(board: CampaignBoard, as_json: bool) -> None:
    last = board.last_job()
    assert last is not None
    job, progress = last
    if as_json:
        campaigns = [{**t._asdict(), "best_minute": hour_and_minute(t.best_minute[1])} for t in board.ranking()]
        print(json.dumps({**job_totals(job, progress), "campaigns": campaigns}))
        return
    console = Console(highlight=False)
    console.print(board.table())
    late = sum(t.late for t in board.totals.values())
    console.print(
        f"{progress.read:,} impressions in {format_count(progress.batches, 'batch', 'batches')} and {format_duration(job.seconds)} "
        f"({progress.read / max(job.seconds, 0.001):,.0f}/s); {late:,} arrived after their minute was over and went to a "
        f"side output.\n'penstock info {job.id[:8]}' shows the run, 'penstock list' all jobs.",
        soft_wrap=True,
    )
