"""The builder of the file source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.connectors.file.source.enumerator import FileEnumeratorProvider, FileSplitAssignerProvider
from penstock.connectors.file.source.file_list import FileOrder
from penstock.connectors.file.source.stream_format import StreamFormat
from penstock.errors import warn_ignored
from penstock.formats.bulk import BulkFormat
from penstock.time import Duration

if TYPE_CHECKING:
    from penstock.connectors.file.source.source import FileSource


class FileSourceBuilder:
    """Builds a FileSource."""

    def __init__(self, file_format: StreamFormat | BulkFormat, paths: tuple[str, ...]) -> None:
        self._format = file_format
        self._paths = paths
        self._interval: Duration | None = None
        self._enumerator = FileEnumeratorProvider.default_splittable_file_enumerator()
        self._order: FileOrder | None = None
        self._options: Mapping[str, Any] = {}

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Makes the source unbounded. It looks for new files at most once per interval."""
        self._interval = discovery_interval
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Makes the source bounded. It reads the files that exist when the job starts."""
        self._interval = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Sets which files are read and whether they may be split."""
        self._enumerator = file_enumerator
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Has no effect, because Spark places tasks."""
        warn_ignored("set_split_assigner() has no effect. Spark places the tasks that read files.")
        return self

    def set_files_in_time_order(self, order: FileOrder = "modification_time") -> FileSourceBuilder:
        """Declares that each file contains only events that happened after those of the previous file.

        `order` is the order in which the files are read: "modification_time" or "path". Event time advances file by file. Without
        this setting, files may overlap in time, and files that have not been read yet hold the watermark back.
        """
        self._order = order
        return self

    def with_storage_options(self, options: Mapping[str, Any]) -> FileSourceBuilder:
        """Sets options of the file system, such as `endpoint_override` for S3."""
        self._options = options
        return self

    def build(self) -> FileSource:
        """Builds the source."""
        from penstock.connectors.file.source.source import FileSource

        every = 0.0 if self._interval is None else self._interval.to_milliseconds() / 1000
        return FileSource(
            self._paths,
            self._format,
            bounded=self._interval is None,
            look_every=every,
            enumerator=self._enumerator,
            files_in_time_order=self._order,
            storage_options=self._options,
        )
