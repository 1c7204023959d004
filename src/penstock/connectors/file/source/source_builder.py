"""Collects the settings of a file source, in Flink's way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.connectors.file.enumerator import FileEnumeratorProvider, FileSplitAssignerProvider
from penstock.connectors.file.stream_format import StreamFormat
from penstock.formats.bulk import BulkFormat
from penstock.time import Duration

if TYPE_CHECKING:
    from penstock.connectors.file.source import FileSource


class FileSourceBuilder:
    """Collects the settings of a file source."""

    def __init__(self, file_format: StreamFormat | BulkFormat, paths: tuple[str, ...]) -> None:
        self._format = file_format
        self._paths = paths
        self._interval: Duration | None = None
        self._enumerator = FileEnumeratorProvider.default_splittable_file_enumerator()
        self._options: Mapping[str, Any] = {}

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """The source goes on and looks for new files, at most once in this time."""
        self._interval = discovery_interval
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """The source reads the files there are when the job starts, and ends."""
        self._interval = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Which files are read, and whether they may be cut."""
        self._enumerator = file_enumerator
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Accepted, and changes nothing: Spark places tasks."""
        return self

    def with_storage_options(self, options: Mapping[str, Any]) -> FileSourceBuilder:
        """Options of the paths' file system, such as `endpoint_override` of S3."""
        self._options = options
        return self

    def build(self) -> FileSource:
        """The source."""
        from penstock.connectors.file.source import FileSource

        every = 0.0 if self._interval is None else self._interval.to_milliseconds() / 1000
        return FileSource(
            self._paths,
            self._format,
            bounded=self._interval is None,
            look_every=every,
            enumerator=self._enumerator,
            storage_options=self._options,
        )
