"""Where answers and messages of the client go."""

from __future__ import annotations

from typing import Protocol

from penstock.cli.sql.client_options import ClientOptions
from penstock.table.environment.answer import Answer


class Output(Protocol):
    """Shows what statements answer."""

    def info(self, text: str) -> None:
        """Shows a message of the client, such as that a statement succeeded."""
        ...

    def clear(self) -> None:
        """Clears the screen, if there is one."""
        ...

    def text(self, text: str) -> None:
        """Shows a text that a statement asked for."""
        ...

    def answer(self, answer: Answer, options: ClientOptions) -> None:
        """Shows the rows of an answer. Those of a query come while it runs."""
        ...
