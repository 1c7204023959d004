"""The options of tables before Flink 1.11, such as 'connector.type', which Flink still reads for CSV files."""

from __future__ import annotations

from collections.abc import Mapping

_NAMES = {
    "connector.type": "connector",
    "connector.path": "path",
    "format.type": "format",
    "format.field-delimiter": "csv.field-delimiter",
    "format.quote-character": "csv.quote-character",
    "format.ignore-parse-errors": "csv.ignore-parse-errors",
    "format.ignore-first-line": None,
    "format.derive-schema": None,
    "connector.property-version": None,
    "format.property-version": None,
    "update-mode": None,
}


def current_options(options: Mapping[str, str]) -> dict[str, str]:
    """Returns options with the names that they have today.

    >>> current_options({"connector.type": "filesystem", "connector.path": "/tmp/a", "format.type": "csv"})
    {'connector': 'filesystem', 'path': '/tmp/a', 'format': 'csv'}
    >>> current_options({"connector": "print"})
    {'connector': 'print'}
    """
    if options.get("connector.type") != "filesystem" or options.get("format.ignore-first-line", "false") == "true":
        return dict(options)  # other connectors of that time are gone
    found = {_NAMES.get(name, name): value for name, value in options.items()}
    return {name: value for name, value in found.items() if name is not None}
