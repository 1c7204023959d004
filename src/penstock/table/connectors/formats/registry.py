"""Finds a format by its name, and the options of a table that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import ConfigError
from penstock.table.connectors.formats.arrow_files import OrcFormat, ParquetFormat
from penstock.table.connectors.formats.avro import AvroFormat, ConfluentAvroFormat
from penstock.table.connectors.formats.change_capture import CanalFormat, DebeziumFormat, MaxwellFormat, OggFormat
from penstock.table.connectors.formats.csv import CsvFormat
from penstock.table.connectors.formats.format import TableFormat
from penstock.table.connectors.formats.json import JsonFormat
from penstock.table.connectors.formats.raw import RawFormat
from penstock.table.connectors.options import Option, OptionValues, nearest

_FORMATS: dict[str, TableFormat] = {
    f.name: f
    for f in (
        AvroFormat(), CanalFormat(), ConfluentAvroFormat(), CsvFormat(), DebeziumFormat(), JsonFormat(), MaxwellFormat(),
        OggFormat(), OrcFormat(), ParquetFormat(), RawFormat(),
    )
}  # fmt: skip


def format_names() -> list[str]:
    """Returns the names of all formats.

    >>> "json" in format_names()
    True
    """
    return sorted(_FORMATS)


def find_format(name: str) -> TableFormat:
    """Returns the format with a name of `format_names`.

    >>> find_format("csv").read_mode
    'append'
    """
    return _FORMATS[name]


@dataclass(frozen=True, slots=True)
class ChosenFormat:
    """A format and the prefix of its options in the table: 'json.', 'key.json.' or 'value.json.'."""

    format: TableFormat
    prefix: str

    @property
    def options(self) -> list[Option]:
        """The options of the format, by their names in the table."""
        return [option.with_prefix(self.prefix) for option in self.format.options]

    def values(self, table: OptionValues) -> dict[str, Any]:
        """Returns the checked options by their names in the format."""
        values = table.with_prefix(self.prefix, self.format.options)
        if problem := self.format.check(values):
            raise table.error(problem)
        return values


def choose_format(owner: str, given: Mapping[str, str], *names: str) -> ChosenFormat | None:
    """Returns the format that one of some options names, or None if none of them is set.

    >>> choose_format("Table t", {"value.format": "json"}, "format", "value.format").prefix
    'value.json.'
    """
    for option in names:
        if option not in given:
            continue
        name = given[option]
        found = _FORMATS.get(name)
        if found is None:
            near = nearest(name, list(_FORMATS))
            hint = f" Did you mean '{near}'?" if near else ""
            raise ConfigError(
                "TABLE_FORMAT",
                f"{owner}: Option '{option}' names an unknown format '{name}'.{hint} Known formats: {', '.join(format_names())}.",
            )
        return ChosenFormat(found, f"{option.removesuffix('format')}{name}.")
    return None
