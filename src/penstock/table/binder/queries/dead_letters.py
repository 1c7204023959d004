"""Finds the table that takes the dead letters of a table: the option 'dead-letter.table'."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.errors import ConfigError
from penstock.table.binder.queries.lookup import ResolvedTable, ResolvedView
from penstock.table.connectors.dead_letters import TABLE, misfit_of_table
from penstock.table.connectors.options import owner
from penstock.table.relations import DeadLetterTable

FindTable = Callable[[tuple[str, ...]], ResolvedTable | ResolvedView | None]


def dead_letter_table(path: tuple[str, ...], options: Mapping[str, str], find: FindTable) -> DeadLetterTable | None:
    """Returns the table of dead letters of a table, or None if it names none.

    A name of one or two parts is completed by the catalog and the database of the table itself.
    """
    name = options.get(TABLE)
    if name is None:
        return None
    parts = tuple(part.strip().strip("`") for part in name.split("."))
    target = (*path[: max(0, len(path) - len(parts))], *parts)
    found = find(target)
    if not isinstance(found, ResolvedTable):
        what = "is a view" if found else "does not exist"
        raise _error(path, f"Option '{TABLE}' names '{'.'.join(target)}', which {what}. Create the table first.")
    if found.path == path:
        raise _error(path, f"Option '{TABLE}' names the table itself. Name another table.")
    reason = misfit_of_table(found.table)
    if reason:
        raise _error(path, f"Table '{name}' of the option '{TABLE}' cannot take dead letters: {reason}")
    return DeadLetterTable(found.table, found.path)


def _error(path: tuple[str, ...], text: str) -> ConfigError:
    return ConfigError("TABLE_OPTION", f"{owner(path)}: {text}")
