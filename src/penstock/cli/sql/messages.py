"""What the client says, with Flink's words, so that scripts that read the output of Flink's client work."""

from __future__ import annotations

SUCCEEDED = "[INFO] Execute statement succeeded."
SUBMITTING = "[INFO] Submitting SQL update statement to the cluster..."
SUBMITTED = "[INFO] SQL update statement has been successfully submitted to the cluster:"
COMPLETED = "[INFO] Complete execution of the SQL update statement."
CANCELLED = "[INFO] The query was cancelled."


def rows_in_set(rows: int, seconds: float | None = None) -> str:
    """What follows a table of rows that are complete.

    >>> rows_in_set(1), rows_in_set(2, 0.5), rows_in_set(0)
    ('1 row in set', '2 rows in set (0.50 seconds)', 'Empty set')
    """
    text = "Empty set" if rows == 0 else "1 row in set" if rows == 1 else f"{rows} rows in set"
    return text + _time(seconds)


def rows_received(rows: int, seconds: float | None = None) -> str:
    """What follows a table of changes.

    >>> rows_received(1), rows_received(3, 2.0)
    ('Received a total of 1 row', 'Received a total of 3 rows (2.00 seconds)')
    """
    return f"Received a total of {rows} row{'s' if rows > 1 else ''}{_time(seconds)}"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f" ({seconds:.2f} seconds)"
