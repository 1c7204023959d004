"""What a format of tables provides: decoders and encoders of columns, by the options of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from penstock.errors import UnsupportedOperation
from penstock.formats.bulk import BulkFormat, BulkWriterFactory
from penstock.formats.columns.interface import Decoder, Encoder
from penstock.table.connectors.interface import ChangelogMode
from penstock.table.connectors.options import Option
from penstock.types.logical.kinds import Field


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What a decoder must produce: physical fields, then metadata of the format (key and wanted field).

    `all_fields` are the physical fields of the table in the order of its definition, which formats without names (CSV) need.
    """

    fields: Sequence[Field]
    all_fields: Sequence[Field]
    metadata: Sequence[tuple[str, Field]] = ()
    zone: str = "UTC"


class TableFormat:
    """One value of the option 'format'. Options are named without the name of the format."""

    name = ""
    options: tuple[Option, ...] = ()
    read_mode: ChangelogMode = "append"
    write_mode: ChangelogMode = "append"
    whole_files = False  # in files, the format has its own structure instead of one record per line
    in_messages = True  # whether a single message, such as a Kafka record, can have this format
    metadata: Mapping[str, str] = MappingProxyType({})  # metadata keys that can be read, with their types

    def check(self, values: dict[str, Any]) -> str | None:
        """Returns what is wrong with the options together, or None."""
        return None

    def decoder(self, request: ReadRequest, values: dict[str, Any]) -> Decoder:
        """Returns the decoder of records."""
        raise UnsupportedOperation("TABLE_FORMAT", f"The format '{self.name}' cannot be read.")

    def encoder(self, fields: Sequence[Field], values: dict[str, Any]) -> Encoder:
        """Returns the encoder of rows."""
        raise UnsupportedOperation("TABLE_FORMAT", f"The format '{self.name}' cannot be written.")

    def file_reader(self, request: ReadRequest, values: dict[str, Any]) -> BulkFormat:
        """Returns the reader of whole files."""
        raise NotImplementedError

    def file_decoder(self, request: ReadRequest, values: dict[str, Any]) -> Decoder:
        """Returns the decoder of the elements of `file_reader`."""
        return self.decoder(request, values)

    def file_writer(self, fields: Sequence[Field], values: dict[str, Any], paired: bool = False) -> BulkWriterFactory:
        """Returns the writer of whole files. With `paired`, elements are pairs of a partition and an element."""
        raise NotImplementedError

    def file_encoder(self, fields: Sequence[Field], values: dict[str, Any]) -> Encoder:
        """Returns the encoder to the elements of `file_writer`."""
        return self.encoder(fields, values)
