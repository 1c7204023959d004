"""How a file source reads a file's elements, under Flink's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import UnsupportedOperation
from penstock.formats.charset import known_charset
from penstock.time import Duration

if TYPE_CHECKING:
    from penstock.connectors.files import FileSource


class StreamFormat:
    """How the bytes of whole lines become elements; a decoder of file sources can be given too."""

    def __init__(self, decode: Any) -> None:
        self.decode = decode

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Each line is an element, empty ones too."""
        return StreamFormat(TextLines(charset_name))


class TextLines:
    """Decodes lines of text; the ends of lines are left out.

    >>> TextLines()(b"a\\r\\n\\nb")
    ['a', '', 'b']
    """

    output_type = str
    output_is_exact = True
    keeps_empty = True

    def __init__(self, charset_name: str = "UTF-8") -> None:
        self._charset = known_charset(charset_name)
        if "\n".encode(self._charset) != b"\n":
            raise UnsupportedOperation(
                "CHARSET",
                f"Text in {charset_name} was asked for, in which the end of a line has more than one byte, so that files cannot be "
                "cut there. Convert the files to UTF-8.",
            )

    def __call__(self, block: bytes) -> list[Any]:
        lines = block.decode(self._charset).split("\n")
        if lines[-1] == "":
            lines.pop()
        return [line.removesuffix("\r") for line in lines] if b"\r" in block else lines


class FileSourceBuilder:
    """Collects the settings of a file source."""

    def __init__(self, stream_format: StreamFormat, paths: tuple[str, ...]) -> None:
        self._format = stream_format
        self._paths = paths
        self._interval: Duration | None = None

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """The source goes on and looks for new files, at most once in this time."""
        self._interval = discovery_interval
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """The source reads the files there are when the job starts, and ends."""
        self._interval = None
        return self

    def set_file_enumerator(self, file_enumerator: Any) -> FileSourceBuilder:
        """Not supported: a Java class of Flink's."""
        raise _java("set_file_enumerator")

    def set_split_assigner(self, split_assigner: Any) -> FileSourceBuilder:
        """Not supported: a Java class of Flink's."""
        raise _java("set_split_assigner")

    def build(self) -> FileSource:
        """The source."""
        from penstock.connectors.files import FileSource

        every = 0.0 if self._interval is None else self._interval.to_milliseconds() / 1000
        return FileSource(self._paths, self._format.decode, bounded=self._interval is None, look_every=every)


def _java(method: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        "JAVA_FUNCTION",
        f"{method} takes a Java class of Flink's, and no Flink runs here. Leave it out: all files are read, and large ones "
        "are cut.",
    )
