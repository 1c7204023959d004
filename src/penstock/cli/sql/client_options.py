"""The options of the SQL client. They have Flink's names and are set with SET, like all other options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from penstock.config.value_kinds import read_boolean
from penstock.errors import ConfigError
from penstock.table.environment.table_config import TableConfig

ResultMode = Literal["table", "changelog", "tableau", "plot"]

RESULT_MODE = "sql-client.execution.result-mode"
MAX_ROWS = "sql-client.execution.max-table-result.rows"
TIME_COST = "sql-client.display.print-time-cost"
VERBOSE = "sql-client.verbose"
DML_SYNC = "table.dml-sync"
_DEFAULT_ROWS = 1_000_000

DOCS = {
    RESULT_MODE: "How results are shown: table (updated in place), changelog, tableau, or plot.",
    MAX_ROWS: "How many rows the modes table and changelog keep. Older rows are dropped.",
    TIME_COST: "Whether the time of a query is printed.",
    VERBOSE: "Whether errors are printed with their stack traces.",
    DML_SYNC: "Whether INSERT waits until the job has ended.",
    "sql-client.display.max-column-width": "How wide a column of texts is at most.",
    "table.display.max-column-width": "How wide a column of texts is at most.",
}


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """The values of the options."""

    result_mode: ResultMode = "table"
    max_rows: int = _DEFAULT_ROWS
    print_time: bool = True
    verbose: bool = False
    sync: bool = False
    max_width: int = 30
    zone: str = "UTC"


def client_options(config: TableConfig) -> ClientOptions:
    """Reads the options from the settings of a session. Raises ConfigError for a wrong value.

    >>> client_options(TableConfig({"sql-client.execution.result-mode": "TABLEAU"})).result_mode
    'tableau'
    """
    values = config.values()
    return ClientOptions(
        _mode(values.get(RESULT_MODE, "table")),
        _rows(values.get(MAX_ROWS, str(_DEFAULT_ROWS))),
        _flag(TIME_COST, values.get(TIME_COST, "true")),
        _flag(VERBOSE, values.get(VERBOSE, "false")),
        _flag(DML_SYNC, values.get(DML_SYNC, "false")),
        config.get_max_column_width(),
        config.get_local_timezone(),
    )


def check_option(key: str, value: str) -> None:
    """Raises ConfigError if an option of the client cannot have a value."""
    client_options(TableConfig({key: value}))


def _mode(value: str) -> ResultMode:
    for mode in get_args(ResultMode):
        if value.lower() == mode:
            found: ResultMode = mode
            return found
    raise ConfigError("SQL_OPTION", f"'{RESULT_MODE}' is '{value}'. It is one of table, changelog, tableau and plot.")


def _rows(value: str) -> int:
    if not value.strip().isdigit() or int(value) < 1:
        raise ConfigError("SQL_OPTION", f"'{MAX_ROWS}' is '{value}'. It is a number from 1 on.")
    return int(value)


def _flag(key: str, value: str) -> bool:
    try:
        return read_boolean(value)
    except ValueError as error:
        raise ConfigError("SQL_OPTION", f"'{key}' is '{value}'. It is true or false.") from error
