"""The text of HELP."""

from __future__ import annotations

_COMMANDS = (
    ("HELP", "Shows this text."),
    ("QUIT, EXIT", "Ends the client. Jobs that INSERT has started continue."),
    ("CLEAR", "Clears the screen."),
    ("SET", "Shows all options. SET 'key' = 'value' sets one."),
    ("RESET", "Resets all options. RESET 'key' resets one."),
    ("SELECT", "Runs a query and shows its rows. Ctrl-C ends it."),
    ("INSERT INTO", "Starts a job that writes the rows of a query to a table."),
    ("BEGIN STATEMENT SET", "Begins a set of INSERT statements that run as one job. END starts it."),
    ("EXPLAIN", "Shows how a query runs, what its state is, and advice."),
    ("SHOW JOBS", "Lists the jobs of this machine."),
    ("STOP JOB 'id'", "Stops a job. WITH SAVEPOINT takes a savepoint first."),
)

_MODES = (
    ("table", "the rows of the result, updated in place"),
    ("changelog", "the last changes of the result"),
    ("tableau", "all changes, printed below each other"),
    ("plot", "numbers over time"),
)


def _lines(pairs: tuple[tuple[str, str], ...]) -> list[str]:
    return [f"  {name:<21} {text}" for name, text in pairs]


HELP = "\n".join(
    [
        "The following commands are available:",
        "",
        *_lines(_COMMANDS),
        "",
        "How results are shown: SET 'sql-client.execution.result-mode' = '...';",
        "",
        *_lines(_MODES),
        "",
        "A statement ends with a semicolon and may have several lines.",
    ]
)
