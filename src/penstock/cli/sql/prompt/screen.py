"""Shows answers and messages on the terminal."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console

from penstock.cli.sql.client_options import ClientOptions
from penstock.cli.sql.results.live import LiveResult
from penstock.cli.sql.results.plot import PlotView
from penstock.cli.sql.results.tableau import print_tableau
from penstock.cli.sql.results.views import ChangelogView, TableView, View
from penstock.table.environment.answer import Answer

_VIEWS: dict[str, Callable[[Answer, ClientOptions], View]] = {
    "table": TableView,
    "changelog": ChangelogView,
    "plot": PlotView,
}


class Screen:
    """The output of the prompt. Results are shown in the mode that the options of the client say."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)

    def info(self, text: str) -> None:
        first, _, rest = text.partition("\n")
        self.console.print(first, style="bold blue", markup=False, soft_wrap=True)
        if rest:
            self.text(rest)

    def error(self, text: str) -> None:
        """Shows an error. As in Flink's client, the statement has no effect and the next one can be typed."""
        self.console.print(
            f"[ERROR] Could not execute SQL statement. Reason:\n{text}", style="bold red", markup=False, soft_wrap=True
        )

    def text(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)

    def clear(self) -> None:
        self.console.clear()

    def answer(self, answer: Answer, options: ClientOptions) -> None:
        view = _VIEWS.get(options.result_mode)
        in_batches = answer.is_query and not answer.streaming and options.result_mode != "plot"
        if view is None or not answer.is_query or in_batches:
            print_tableau(answer, options, self.console.file)
            return
        try:
            picture = view(answer, options)
        except BaseException:
            close = getattr(answer.rows, "close", None)
            if close is not None:
                close()
            raise
        LiveResult(picture, self.console, options).show(answer)
