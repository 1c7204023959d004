"""A sink of Spark's own, by the name of its format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.connectors.dataframe.foreach_batch import ForeachBatchSink
from penstock.connectors.secret import revealed, with_secrets
from penstock.types import TypeInformation


class SparkSink(ForeachBatchSink):
    """Writes each batch with one of Spark's data sources: parquet, jdbc, kafka, delta, ... At least once.

    Options are Spark's own for that format; a Secret among them is shown nowhere. A job of a DataFrame and this sink alone has
    no Python in it, and may run in Spark's real-time mode.

    >>> SparkSink("kafka", {"topic": "out"})
    SparkSink('kafka')
    """

    native = True

    def __init__(
        self,
        format: str,
        options: Mapping[str, Any] | None = None,
        mode: str = "append",
        kind: TypeInformation | None = None,
    ) -> None:
        super().__init__(self._write, kind)
        self.format = format
        self.options = with_secrets(options or {})
        self.mode = mode

    def __repr__(self) -> str:
        return f"SparkSink('{self.format}')"

    def with_type(self, kind: TypeInformation) -> SparkSink:
        return SparkSink(self.format, self.options, self.mode, kind)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "options": {}}

    def plain_options(self) -> dict[str, str]:
        """The options as Spark is given them."""
        return {name: str(value) for name, value in revealed(self.options).items()}

    def _write(self, frame: Any, batch: int) -> None:
        frame.write.format(self.format).options(**self.plain_options()).mode(self.mode).save()
