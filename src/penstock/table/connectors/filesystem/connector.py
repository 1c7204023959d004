"""The connector 'filesystem'."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.connectors.file.sink.bucket_assigner import BucketAssigner
from penstock.connectors.file.sink.compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.file.sink.rolling_policy import RollingPolicy
from penstock.connectors.file.sink.sink import FileSink
from penstock.connectors.file.source.enumerator import FileEnumeratorProvider
from penstock.connectors.file.source.source import FileSource
from penstock.errors import UnsupportedOperation
from penstock.table.connectors.dead_letters import check_dead_letters
from penstock.table.connectors.filesystem.lines import AllLines, PartitionedLines, RawLines, RecordLines
from penstock.table.connectors.filesystem.options import FILESYSTEM_OPTIONS
from penstock.table.connectors.filesystem.partitions import (
    METADATA,
    FirstOfPair,
    OriginDecoder,
    OriginFileSource,
    PartitionedEncoder,
)
from penstock.table.connectors.filesystem.pattern import PathPattern
from penstock.table.connectors.filesystem.pruning import PartitionFilter
from penstock.table.connectors.filesystem.records import QuotedRecords
from penstock.table.connectors.formats.csv import dialect
from penstock.table.connectors.formats.format import ReadRequest
from penstock.table.connectors.formats.registry import ChosenFormat, choose_format
from penstock.table.connectors.interface import (
    LookupRequest,
    LookupSource,
    ScanRequest,
    SinkRequest,
    TableSink,
    TableSource,
)
from penstock.table.connectors.lookup.full import FullTable
from penstock.table.connectors.options import OptionValues, owner
from penstock.types.logical.kinds import Field


class FilesystemConnector:
    """Reads and writes files in a folder."""

    name = "filesystem"

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns the metadata of files, and that of the format."""
        chosen = choose_format("Table", options, "format")
        return {**METADATA, **({} if chosen is None else chosen.format.metadata)}

    def _values(self, path: tuple[str, ...], options: Mapping[str, str]) -> tuple[OptionValues, ChosenFormat]:
        chosen = choose_format(owner(path), options, "format")
        known = (*FILESYSTEM_OPTIONS, *(() if chosen is None else chosen.options))
        values = OptionValues(owner(path), self.name, options, known)
        assert chosen is not None  # 'format' is required
        if chosen.format.name == "avro-confluent":
            raise values.error("The format 'avro-confluent' is one of messages. Files have the format 'avro'.")
        return values, chosen

    def source(self, request: ScanRequest) -> TableSource:
        """Returns a source of lines, or of the elements of whole files."""
        values, chosen = self._values(request.path, request.options)
        check_dead_letters(values, request.options)
        settings = chosen.values(values)
        partition_keys = request.table.partition_keys
        physical = [Field(c.name, c.type) for c in request.table.columns if c.kind == "physical"]
        in_files = [f for f in physical or request.columns if f.name not in partition_keys]
        wanted = [field for field in request.columns if field.name not in partition_keys]
        own = [(key, field) for key, field in request.metadata if key not in METADATA]
        read = ReadRequest(wanted, in_files, own, request.zone)
        reader: Any
        if chosen.format.whole_files:
            reader, decoder = chosen.format.file_reader(read, settings), chosen.format.file_decoder(read, settings)
        else:
            decoder = chosen.format.decoder(read, settings)
            reader = RawLines()
            if chosen.format.name == "csv":
                reader = QuotedRecords(dialect(settings).quote)
            elif chosen.format.name == "raw":
                reader = AllLines()
        interval = values["source.monitor-interval"]
        pattern = values["source.path.regex-pattern"]
        whole_origin = len(wanted) < len(request.columns) or len(own) < len(request.metadata)
        source = (OriginFileSource if whole_origin else FileSource)(
            values["path"].removeprefix("file://"),
            reader,
            bounded=interval is None,
            look_every=0.0 if interval is None else interval / 1000,
            enumerator=FileEnumeratorProvider(
                accepts=None if pattern is None else PathPattern(pattern), enters=_partitions(request, values)
            ),
        )
        if whole_origin:
            default = values["partition.default-name"]
            decoder = OriginDecoder(decoder, request.columns, partition_keys, request.metadata, default, request.zone)
        return TableSource(source, decoder, chosen.format.read_mode)

    def lookup(self, request: LookupRequest) -> LookupSource:
        """Returns the rows of all files, which each worker reads into memory, and again after an interval if there is one."""
        values, chosen = self._values(request.path, request.options)
        if chosen.format.read_mode != "append":
            raise values.error(
                f"A lookup join cannot read the format '{chosen.format.name}', which has changes of rows."
            )
        options = {k: v for k, v in request.options.items() if k != "source.monitor-interval"}
        scan = ScanRequest(request.table, request.path, options, request.columns, zone=request.zone)
        interval = values["lookup.full-cache.periodic-reload.interval"] or values["source.monitor-interval"]
        table = FullTable(self.source(scan), request.columns, request.keys, owner(request.path), interval)
        return LookupSource(table, request.keys)

    def sink(self, request: SinkRequest) -> TableSink:
        """Returns a sink of files that appear when a batch is committed."""
        values, chosen = self._values(request.path, request.options)
        self._check_sink(values, request)
        settings = chosen.values(values)
        keys = request.partition_keys
        fields = [field for i, field in enumerate(request.columns) if i not in keys]
        whole = chosen.format.whole_files
        encoder: Any = (chosen.format.file_encoder if whole else chosen.format.encoder)(fields, settings)
        if keys:
            default = values["partition.default-name"]
            encoder = PartitionedEncoder(encoder, request.columns, keys, default, whole, request.zone)
        sink = FileSink(
            values["path"].removeprefix("file://"),
            None if whole else PartitionedLines() if keys else RecordLines(),
            bulk_writer=chosen.format.file_writer(fields, settings, bool(keys)) if whole else None,
            rolling=RollingPolicy.on_checkpoint_rolling_policy() if whole else _rolling(values),
            buckets=FirstOfPair() if keys else BucketAssigner.base_path_bucket_assigner(),
            compaction=_compaction(values, whole),
        )
        return TableSink(sink, encoder, chosen.format.write_mode)

    def _check_sink(self, values: OptionValues, request: SinkRequest) -> None:
        if request.overwrite:
            raise UnsupportedOperation(
                "INSERT_OVERWRITE",
                f"{owner(request.path)}: INSERT OVERWRITE is not supported by 'filesystem', because batches of a running job "
                "add files. Remove the files before the job, or write to another folder.",
            )
        if request.metadata:
            name = request.metadata[0][0]
            raise values.error(f"Metadata '{name}' of files cannot be written. Declare it VIRTUAL.")


def _partitions(request: ScanRequest, values: OptionValues) -> PartitionFilter | None:
    """Decides which folders the query reads, if it has conditions on partition columns."""
    if not request.partitions:
        return None
    table = request.table
    fields = [Field(c.name, c.type) if c.name in table.partition_keys else None for c in table.columns]
    return PartitionFilter(request.partitions, fields, values["partition.default-name"], request.zone)


def _rolling(values: OptionValues) -> RollingPolicy:
    return RollingPolicy.default_rolling_policy(
        values["sink.rolling-policy.file-size"],
        values["sink.rolling-policy.rollover-interval"],
        values["sink.rolling-policy.inactivity-interval"],
    )


def _compaction(values: OptionValues, whole_files: bool) -> tuple[FileCompactStrategy, FileCompactor] | None:
    """Compacts the files of each batch, as Flink does for each checkpoint."""
    if not values["auto-compaction"]:
        return None
    if whole_files:
        raise values.error("Option 'auto-compaction' is not supported for formats of whole files, such as 'parquet'.")
    size = values["compaction.file-size"] or values["sink.rolling-policy.file-size"]
    strategy = FileCompactStrategy.builder().set_size_threshold(size).enable_compaction_on_checkpoint(1).build()
    return strategy, FileCompactor.concat_file_compactor()
